"""The measures a job can name."""

from __future__ import annotations

from collections.abc import Mapping

from engine.frontier.risk import Risk
from engine.frontier.risk_journalist import JOURNALIST
from engine.frontier.risk_marketer import MARKETER
from engine.frontier.risk_prosecutor import PROSECUTOR
from engine.frontier.utility import UtilityLoss
from engine.frontier.utility_kl_divergence import KL_DIVERGENCE
from engine.frontier.utility_loss import LOSS

RISKS: Mapping[str, Risk] = {measure.name: measure for measure in (MARKETER, PROSECUTOR, JOURNALIST)}
UTILITIES: Mapping[str, UtilityLoss] = {measure.name: measure for measure in (KL_DIVERGENCE, LOSS)}
