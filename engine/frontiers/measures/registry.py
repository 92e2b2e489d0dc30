"""The measures a job can name, one line each; `engine.job.frontier_measures` has the words for each name."""

from __future__ import annotations

from collections.abc import Mapping

from engine.frontiers.measures.risk import Risk
from engine.frontiers.measures.risk_journalist import JOURNALIST
from engine.frontiers.measures.risk_marketer import MARKETER
from engine.frontiers.measures.risk_prosecutor import PROSECUTOR
from engine.frontiers.measures.utility import UtilityLoss
from engine.frontiers.measures.utility_kl_divergence import KL_DIVERGENCE
from engine.frontiers.measures.utility_loss import LOSS

RISKS: Mapping[str, Risk] = {measure.name: measure for measure in (MARKETER, PROSECUTOR, JOURNALIST)}
UTILITIES: Mapping[str, UtilityLoss] = {measure.name: measure for measure in (KL_DIVERGENCE, LOSS)}
