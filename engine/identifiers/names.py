"""Columns that look like identifiers by their names, in English, German, French, Spanish, Italian, Dutch, Portuguese.

In: the name of a column. Out: the kind of identifier that such columns hold, or None. A name is cut into words at
punctuation and at a change of case; accents and case do not count. A rule of several words stands for these words in
a row, and for the same written together.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata

from engine.identifiers.kinds import Kind

_RULES: dict[Kind, str] = {
    "email": ("email|e mail|mail address|correo|correo electronico|courriel|mailadresse|emailadres|posta elettronica"),
    "phone": (
        "phone|telephone|telefon|telefono|telefone|telefoon|mobile phone|mobile number|cellphone|"
        "handynummer|telefonnummer|telefoonnummer|fax|pager|phone number|telefonnr"
    ),
    "social-security-number": (
        "ssn|social security|sozialversicherungsnummer|svnr|sv nummer|ahv|ahvnr|ahv nummer|nhs number|nhs no|nino|"
        "national id|national identifier|numero securite sociale|dni|curp|cpf|codice fiscale|bsn|"
        "burgerservicenummer|passport|passport number|passport no|passnummer|personnummer|aadhaar|tax id|steuernummer|"
        "steuer id|pesel|fodselsnummer|cpr nummer"
    ),
    "record-number": (
        "mrn|medical record number|medical record|patient id|patientid|person id|subject id|subjectid|participant id|"
        "patient number|patient no|patient nr|patient key|patient num|patientennummer|patienten id|patnr|pat id|"
        "numero patient|id patient|id paciente|id paziente|patientnummer|case id|caseid|case number|fallnummer|fall id|"
        "fallnr|encounter id|encounter number|admission id|hadm id|icustay id|stay id|visit id|visit number|"
        "chart number|record id|record number|study id|usubjid|subjid|accession number|specimen id|sample id|order id|"
        "numero de dossier|historia clinica|nhc|cartella clinica|person key|member key|id person|bene id|desynpuf id|"
        "patient uuid|uuid|guid|pid num|pid number|pid no|pid nr"
    ),
    "insurance-number": (
        "insurance number|insurance no|insurance id|health plan number|health plan id|beneficiary id|"
        "beneficiary number|member id|member number|policy number|policy id|subscriber id|hicn|medicare number|"
        "medicaid id|"
        "versichertennummer|versicherungsnummer|krankenkassennummer|krankenversicherungsnummer|kvnr|kv nummer|"
        "numero assure|numero poliza|tessera sanitaria|verzekeringsnummer|polisnummer"
    ),
    "account-number": (
        "account number|account no|account id|acct|acct no|iban|bank account|kontonummer|konto nr|"
        "credit card|card number|kreditkarte|numero de compte|numero de cuenta|rekeningnummer"
    ),
    "licence-number": (
        "licence number|license number|license no|licence no|driver license|drivers license|driver licence|"
        "drivers licence|"
        "certificate number|certificate no|npi|dea number|fuhrerscheinnummer|fuehrerscheinnummer|lanr"
    ),
    "vehicle-number": ("license plate|licence plate|plate number|kennzeichen|vehicle id|vehicle number|matricula"),
    "device-number": (
        "device id|device serial|serial number|serial no|imei|imsi|mac address|unique device id|"
        "seriennummer|device identifier"
    ),
    "url": ("url|uri|web site|website|homepage|web address|webseite"),
    "ip-address": ("ip|ip address|ip addr|ipaddr|ipv4|ipv6|ip adresse|adresse ip|direccion ip"),
    "biometric": ("fingerprint|finger print|voice print|voiceprint|retina scan|iris scan|biometric|face template"),
    "photograph": ("photograph|face image|lichtbild"),
    "birth-date": (
        "dob|date of birth|birth date|birthdate|birth day|birthday|birth datetime|geburtsdatum|geb datum|gebdat|"
        "geburtstag|date naissance|date de naissance|fecha nacimiento|fecha de nacimiento|data nascita|data di nascita|"
        "geboortedatum|data nascimento|data de nascimento|birth dt|dat of birth"
    ),
    "zip": (
        "zip|zip code|zipcode|postal code|postcode|post code|plz|postleitzahl|code postal|codigo postal|"
        "postnummer|zip5|zip 5|zip4|zcta"
    ),
    "address": (
        "address|addr|street|street address|street name|address line|house number|adresse|anschrift|strasse|hausnummer|"
        "direccion|indirizzo|straat|endereco|latitude|longitude|geo point|gps|geocode|wohnort adresse"
    ),
    "name": (
        "first name|last name|middle name|family name|given name|full name|fullname|surname|sur name|fname|lname|"
        "maiden name|nickname|patient name|person name|subject name|member name|mother name|mothers name|father name|"
        "doctor name|physician name|provider name|attending name|nurse name|contact name|next of kin|kin name|"
        "vorname|nachname|familienname|geburtsname|patientenname|prenom|nom de famille|nom patient|apellido|"
        "apellidos|cognome|voornaam|achternaam|sobrenome|username|user name|name first|name last"
    ),
    "free-text": (
        "note text|notes|free text|freetext|comment|comments|clinical note|discharge summary|report text|remarks|"
        "freitext|bemerkung|bemerkungen|commentaire|kommentar|anamnese|arztbrief|befundtext|narrative"
    ),
}
_ALONE: dict[str, Kind] = {
    "account": "account-number",
    "adres": "address",
    "beneficiary": "insurance-number",
    "calle": "address",
    "cap": "zip",
    "cell": "phone",
    "cep": "zip",
    "drivers": "licence-number",
    "foto": "photograph",
    "handy": "phone",
    "id": "record-number",
    "initials": "name",
    "lat": "address",
    "licence": "licence-number",
    "license": "licence-number",
    "lng": "address",
    "login": "name",
    "lon": "address",
    "maiden": "name",
    "mbi": "insurance-number",
    "mobil": "phone",
    "name": "name",
    "nie": "social-security-number",
    "nir": "social-security-number",
    "nom": "name",
    "nombre": "name",
    "nome": "name",
    "note": "free-text",
    "patient": "record-number",
    "photo": "photograph",
    "pid": "record-number",
    "portable": "phone",
    "portrait": "photograph",
    "remark": "free-text",
    "rue": "address",
    "tel": "phone",
    "udi": "device-number",
    "via": "address",
    "vin": "vehicle-number",
}
"""Words that say it only where they are the whole name: a drug has a name too."""
_BESIDE = frozenset(
    re.findall(
        r"\w+",
        "drug medication hospital ward department unit test lab concept column table file event device product company "
        "brand generic ingredient species country city county site study project type class category count n has had "
        "is any flag rate ratio level status cell blood",
    )
)
"""Words beside which a word of a rule tells no identifier: `has_phone`, `email_flag`, `hospital_name`."""


def kind_of_name(column: str) -> Kind | None:
    """Return the kind of identifier that a column of this name holds, or None.

    Parameters
    ----------
    column : str
    """
    words = words_of(column)
    if not words:
        return None
    if len(words) == 1 and words[0] in _ALONE:
        return _ALONE[words[0]]
    for length in range(min(len(words), _LONGEST), 0, -1):
        for start in range(len(words) - length + 1):
            kind = _BY_WORDS.get("".join(words[start : start + length]))
            beside = {*words[:start], *words[start + length :]}
            if kind is not None and not beside & _BESIDE:
                return kind
    return None


@functools.lru_cache(maxsize=4096)
def words_of(column: str) -> tuple[str, ...]:
    """Cut the name of a column into words: lower case, without accents."""
    plain = unicodedata.normalize("NFKD", column.replace("ß", "ss"))
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


_BY_WORDS: dict[str, Kind] = {
    words.replace(" ", ""): kind for kind, rules in _RULES.items() for words in rules.split("|")
}
_LONGEST = max(len(words.split()) for words in itertools.chain(*(rules.split("|") for rules in _RULES.values())))
