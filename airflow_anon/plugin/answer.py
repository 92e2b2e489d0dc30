"""The answer to a release that waits, from the form on its page: judged, then written as Airflow's own API writes it.

In: a form with `answer` and `comment`, and the user who sends it. Out: back to the page, or an error that says who may
answer. The task judges the answer once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fastapi import HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from airflow_anon.ledger.form import read
from airflow_anon.observe.addresses import Addresses
from airflow_anon.plugin.access import answering
from airflow_anon.plugin.approvals import asked, roles_of, write_answer
from airflow_anon.plugin.catalogue import APPROVAL
from airflow_anon.plugin.pages.approval import job_of
from airflow_anon.run.approval import APPROVE, LONGEST_COMMENT, REFUSE, objection

ANSWER = APPROVAL
"""The path to which the form is sent: that of the page."""
LARGEST = 65_536
"""Most bytes of a form."""
FOREIGN = "The answer was not sent by the page of the release, so it does not count: open that page, and answer there."
UNKNOWN = "No release waits here for approval: it was answered, it expired, or its run was ended."


async def answer_route(request: Request) -> Response:
    """Take the answer of a form.

    Raises
    ------
    HTTPException
        400 for another form; 403 if the user may not answer, or another site sent it; 409 if no release waits.
    """
    _same_site(request)
    form = _form(await request.body())
    return await run_in_threadpool(_answer, request, form)


def _answer(request: Request, form: Mapping[str, str]) -> Response:
    answering(request)
    dag_id, run_id, task_id = (request.path_params[name] for name in ("dag_id", "run_id", "task_id"))
    user = request.state.deidentification_user
    found = asked(dag_id, run_id, task_id)
    document = None if found is None else read(found.candidate)
    if found is None or document is None or not found.waits:
        raise HTTPException(409, _answered(found))
    job = job_of(document)
    if job is None:
        raise HTTPException(409, UNKNOWN)
    roles = roles_of(user)
    who = {"id": str(user.get_id()), "name": user.get_name()}
    why = objection(job, who, document.run.triggered_by, roles=roles)
    if why is not None:
        raise HTTPException(403, f"Your answer does not count: {why}. The release waits on.")
    write_answer(dag_id, run_id, task_id, option=form["answer"], comment=form["comment"], user=user, roles=roles)
    addresses = Addresses(request.scope.get("root_path", ""))
    return RedirectResponse(addresses.approval(dag_id, run_id, task_id), 303)


def _answered(found: Any) -> str:
    return UNKNOWN if found is None or found.answered_by is None else f"{found.answered_by} has answered already."


def _form(body: bytes) -> dict[str, str]:
    """Return `answer` and `comment` of a form.

    Raises
    ------
    HTTPException
        400 if it is too large, is no form, or has neither of the two answers.
    """
    try:
        fields = parse_qs(body[: LARGEST + 1].decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        fields = {}
    answer, comment = ((fields.get(name) or [""])[-1] for name in ("answer", "comment"))
    if len(body) > LARGEST or answer not in (APPROVE, REFUSE) or len(comment) > LONGEST_COMMENT + comment.count("\n"):
        raise HTTPException(
            400, f"The answer must be {APPROVE} or {REFUSE}, with a comment of at most {LONGEST_COMMENT} characters."
        )
    return {"answer": answer, "comment": comment}


def _same_site(request: Request) -> None:
    """Refuse a form of another site, which the browser would send with the user's login.

    Browsers tell the site on secure connections and on this machine, and the origin of every form; who sends neither is
    no browser, and has no login but the one in its request.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    elif origin is not None:
        own = urlsplit(origin).netloc == request.headers.get("host")
    else:
        own = "authorization" in request.headers
    if not own:
        raise HTTPException(403, FOREIGN)
