"""Names of columns: those of real data models and made-up ones, in several languages."""

from __future__ import annotations

import pytest

from engine.identifiers.names import kind_of_name, words_of

FOUND = {
    "name": "patient_name PatientName first_name FIRST_NAME surname Vorname nachname prénom apellido cognome NAME",
    "record-number": (
        "mrn MRN patient_id PatientID subject_id hadm_id stay_id DESYNPUF_ID BENE_ID USUBJID person_id id "
        "numéro_patient Fallnummer participant-id encounter_id uuid"
    ),
    "social-security-number": "ssn SSN SocialSecurityNumber passport AHV_Nr nhs_number bsn codice_fiscale DNI",
    "email": "email e-mail E_MAIL EmailAddress correo_electronico",
    "phone": "phone phone_number home_phone telephone Telefon fax tel",
    "ip-address": "ip ip_address client_ip IPAddr",
    "url": "url homepage profile_url",
    "birth-date": "dob DOB birth_date BirthDate BIRTHDATE BENE_BIRTH_DT Geburtsdatum date_naissance fecha_nacimiento",
    "zip": "zip ZIP zip_code ZIPCODE postal_code PLZ Postleitzahl patient_zip",
    "address": "address ADDRESS street Straße direccion lat LON house_number",
    "insurance-number": "member_id subscriber_id Krankenkassennummer medicare_number",
    "account-number": "account_number iban credit_card",
    "licence-number": "drivers_license npi DRIVERS",
    "vehicle-number": "vin license_plate",
    "device-number": "device_serial imei mac_address",
    "photograph": "photo face_image",
    "biometric": "fingerprint",
    "free-text": "note note_text comments discharge_summary Bemerkung",
}
NONE = (
    "age sex gender race diagnosis drug_name hospital_name concept_name has_phone email_flag ward weight strip "
    "ipsilateral gender_concept_id visit_type cell_type cell_count week arrest tel_aviv admission_type country_name "
    "hospital_expire_flag icd9_code LOS bmi zipper unit_number test_id"
)


@pytest.mark.parametrize(("kind", "column"), [(kind, name) for kind, names in FOUND.items() for name in names.split()])
def test_a_name_tells_the_kind(kind, column):
    assert kind_of_name(column) == kind


@pytest.mark.parametrize("column", [*NONE.split(), "", "___", "1960"])
def test_other_names_tell_nothing(column):
    assert kind_of_name(column) is None


def test_words():
    assert words_of("BENE_BirthDT-Straße 5") == ("bene", "birth", "dt", "strasse", "5")
