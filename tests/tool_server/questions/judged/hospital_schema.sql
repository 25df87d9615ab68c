-- A hospital group's database as such things grow: five teams, a legacy corner, an archive, and comments where
-- somebody had the time.

CREATE SCHEMA clinical;
CREATE SCHEMA lab;
CREATE SCHEMA facility;
CREATE SCHEMA billing;
CREATE SCHEMA legacy_hr;
CREATE SCHEMA portal;

CREATE TYPE clinical.sex AS ENUM ('female', 'male', 'other', 'unknown');
CREATE TYPE clinical.encounter_kind AS ENUM ('outpatient', 'inpatient', 'emergency', 'telehealth');
CREATE TYPE clinical.appointment_state AS ENUM ('booked', 'checked_in', 'completed', 'no_show', 'cancelled');
CREATE TYPE billing.claim_state AS ENUM ('draft', 'submitted', 'approved', 'denied', 'paid');

-- clinical

CREATE TABLE clinical.departments (
  id integer PRIMARY KEY,
  parent_id integer REFERENCES clinical.departments,
  name text NOT NULL UNIQUE,
  cost_center text NOT NULL UNIQUE
);

CREATE TABLE clinical.specialties (
  code text PRIMARY KEY,
  name text NOT NULL UNIQUE
);

CREATE TABLE clinical.practitioners (
  id integer PRIMARY KEY,
  family_name text NOT NULL,
  given_name text NOT NULL,
  role text NOT NULL CHECK (role IN ('physician', 'surgeon', 'nurse', 'therapist', 'pharmacist')),
  department_id integer NOT NULL REFERENCES clinical.departments,
  supervisor_id integer REFERENCES clinical.practitioners,
  license_no text NOT NULL UNIQUE,
  hired_on date NOT NULL,
  left_on date
);

CREATE TABLE clinical.practitioner_specialties (
  practitioner_id integer REFERENCES clinical.practitioners,
  specialty_code text REFERENCES clinical.specialties,
  board_certified boolean NOT NULL,
  PRIMARY KEY (practitioner_id, specialty_code)
);

CREATE TABLE clinical.patients (
  id integer PRIMARY KEY,
  mrn text NOT NULL UNIQUE,
  family_name text NOT NULL,
  given_name text NOT NULL,
  sex clinical.sex NOT NULL,
  birth_date date NOT NULL,
  city text NOT NULL,
  postal_code text NOT NULL,
  primary_physician_id integer REFERENCES clinical.practitioners,
  registered_on date NOT NULL,
  deceased_on date
);

CREATE TABLE clinical.patient_contacts (
  patient_id integer REFERENCES clinical.patients,
  seq smallint,
  relation text NOT NULL CHECK (relation IN ('spouse', 'parent', 'child', 'sibling', 'friend', 'guardian')),
  name text NOT NULL,
  phone text NOT NULL,
  is_emergency boolean NOT NULL,
  PRIMARY KEY (patient_id, seq)
);

CREATE TABLE clinical.appointments (
  id integer PRIMARY KEY,
  patient_id integer NOT NULL REFERENCES clinical.patients,
  practitioner_id integer NOT NULL REFERENCES clinical.practitioners,
  starts_at timestamp NOT NULL,
  minutes smallint NOT NULL,
  state clinical.appointment_state NOT NULL,
  reason text,
  rescheduled_from_id integer REFERENCES clinical.appointments
);

CREATE TABLE clinical.admissions (
  id integer PRIMARY KEY,
  patient_id integer NOT NULL REFERENCES clinical.patients,
  department_id integer NOT NULL REFERENCES clinical.departments,
  attending_id integer NOT NULL REFERENCES clinical.practitioners,
  admitted_at timestamp NOT NULL,
  discharged_at timestamp,
  admission_source text NOT NULL CHECK (admission_source IN ('emergency', 'planned', 'transfer')),
  discharge_disposition text CHECK (discharge_disposition IN ('home', 'rehab', 'nursing_home', 'died', 'against_advice'))
);

CREATE TABLE clinical.admissions_archive (
  id integer PRIMARY KEY,
  patient_id integer NOT NULL,
  department_id integer NOT NULL,
  attending_id integer NOT NULL,
  admitted_at timestamp NOT NULL,
  discharged_at timestamp,
  admission_source text NOT NULL,
  discharge_disposition text,
  archived_at timestamp NOT NULL
);

CREATE TABLE clinical.encounters (
  id integer PRIMARY KEY,
  patient_id integer NOT NULL REFERENCES clinical.patients,
  practitioner_id integer NOT NULL REFERENCES clinical.practitioners,
  admission_id integer REFERENCES clinical.admissions,
  kind clinical.encounter_kind NOT NULL,
  started_at timestamp NOT NULL,
  ended_at timestamp NOT NULL,
  follow_up_of_id integer REFERENCES clinical.encounters
);

CREATE TABLE clinical.diagnosis_codes (
  icd text PRIMARY KEY,
  description text NOT NULL,
  chapter text NOT NULL,
  chronic boolean NOT NULL
);

CREATE TABLE clinical.encounter_diagnoses (
  encounter_id integer REFERENCES clinical.encounters,
  icd text REFERENCES clinical.diagnosis_codes,
  rank smallint NOT NULL,
  PRIMARY KEY (encounter_id, icd)
);

CREATE TABLE clinical.medications (
  id integer PRIMARY KEY,
  name text NOT NULL,
  atc text NOT NULL,
  form text NOT NULL CHECK (form IN ('tablet', 'capsule', 'injection', 'inhaler', 'cream')),
  controlled boolean NOT NULL
);

CREATE TABLE clinical.prescriptions (
  id integer PRIMARY KEY,
  encounter_id integer NOT NULL REFERENCES clinical.encounters,
  medication_id integer NOT NULL REFERENCES clinical.medications,
  dose_mg numeric(8,2) NOT NULL,
  times_per_day smallint NOT NULL,
  starts_on date NOT NULL,
  ends_on date,
  stopped_because text
);

CREATE TABLE clinical.allergies (
  patient_id integer REFERENCES clinical.patients,
  substance text,
  severity text NOT NULL CHECK (severity IN ('mild', 'moderate', 'severe')),
  noted_on date NOT NULL,
  PRIMARY KEY (patient_id, substance)
);

CREATE TABLE clinical.vital_signs (
  encounter_id integer REFERENCES clinical.encounters,
  taken_at timestamp,
  systolic smallint,
  diastolic smallint,
  pulse smallint,
  temp_c numeric(3,1),
  spo2 smallint,
  PRIMARY KEY (encounter_id, taken_at)
);

-- lab

CREATE TABLE lab.test_types (
  code text PRIMARY KEY,
  name text NOT NULL,
  unit text NOT NULL,
  specimen text NOT NULL CHECK (specimen IN ('blood', 'urine', 'swab', 'tissue')),
  price numeric(8,2) NOT NULL
);

CREATE TABLE lab.reference_ranges (
  test_code text REFERENCES lab.test_types,
  sex clinical.sex,
  min_age smallint,
  low numeric(10,3),
  high numeric(10,3),
  PRIMARY KEY (test_code, sex, min_age)
);

CREATE TABLE lab.analyzers (
  id integer PRIMARY KEY,
  model text NOT NULL,
  serial_no text NOT NULL UNIQUE,
  installed_on date NOT NULL,
  calibrated_on date NOT NULL
);

CREATE TABLE lab.orders (
  id integer PRIMARY KEY,
  encounter_id integer NOT NULL REFERENCES clinical.encounters,
  test_code text NOT NULL REFERENCES lab.test_types,
  priority text NOT NULL CHECK (priority IN ('routine', 'urgent', 'stat')),
  ordered_at timestamp NOT NULL,
  status text NOT NULL CHECK (status IN ('ordered', 'collected', 'resulted', 'cancelled'))
);

CREATE TABLE lab.results (
  order_id integer PRIMARY KEY REFERENCES lab.orders,
  analyzer_id integer NOT NULL REFERENCES lab.analyzers,
  value numeric(10,3) NOT NULL,
  flag char(1) CHECK (flag IN ('H', 'L')),
  resulted_at timestamp NOT NULL,
  verified_by integer REFERENCES clinical.practitioners
);

-- facility

CREATE TABLE facility.wards (
  id integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  building text NOT NULL,
  floor smallint NOT NULL,
  department_id integer NOT NULL REFERENCES clinical.departments
);

CREATE TABLE facility.rooms (
  ward_id integer REFERENCES facility.wards,
  room_no text,
  kind text NOT NULL CHECK (kind IN ('single', 'double', 'shared', 'isolation', 'intensive')),
  PRIMARY KEY (ward_id, room_no)
);

CREATE TABLE facility.beds (
  id integer PRIMARY KEY,
  ward_id integer NOT NULL,
  room_no text NOT NULL,
  label text NOT NULL,
  admission_id integer UNIQUE REFERENCES clinical.admissions,
  out_of_service boolean NOT NULL,
  FOREIGN KEY (ward_id, room_no) REFERENCES facility.rooms
);

CREATE TABLE facility.equipment (
  id integer PRIMARY KEY,
  name text NOT NULL,
  category text NOT NULL CHECK (category IN ('imaging', 'monitoring', 'surgical', 'transport')),
  ward_id integer REFERENCES facility.wards,
  purchased_on date NOT NULL,
  purchase_price numeric(12,2) NOT NULL
);

CREATE TABLE facility.maintenance_jobs (
  id integer PRIMARY KEY,
  equipment_id integer NOT NULL REFERENCES facility.equipment,
  reported_at timestamp NOT NULL,
  fixed_at timestamp,
  cost numeric(10,2),
  contractor text
);

-- billing

CREATE TABLE billing.insurers (
  id integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('public', 'private'))
);

CREATE TABLE billing.plans (
  id integer PRIMARY KEY,
  insurer_id integer NOT NULL REFERENCES billing.insurers,
  name text NOT NULL,
  copay_percent numeric(4,1) NOT NULL,
  UNIQUE (insurer_id, name)
);

CREATE TABLE billing.coverages (
  patient_id integer REFERENCES clinical.patients,
  plan_id integer REFERENCES billing.plans,
  valid_from date,
  valid_to date,
  member_no text NOT NULL,
  PRIMARY KEY (patient_id, plan_id, valid_from)
);

CREATE TABLE billing.invoices (
  id integer PRIMARY KEY,
  invoice_no text NOT NULL UNIQUE,
  patient_id integer NOT NULL REFERENCES clinical.patients,
  encounter_id integer REFERENCES clinical.encounters,
  issued_on date NOT NULL,
  due_on date NOT NULL,
  cancelled boolean NOT NULL DEFAULT false
);

CREATE TABLE billing.invoice_lines (
  invoice_id integer REFERENCES billing.invoices,
  line_no smallint,
  description text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('consultation', 'lab', 'drug', 'room', 'procedure')),
  quantity numeric(8,2) NOT NULL,
  unit_price numeric(10,2) NOT NULL,
  PRIMARY KEY (invoice_id, line_no)
);

CREATE TABLE billing.payments (
  id integer PRIMARY KEY,
  invoice_id integer NOT NULL REFERENCES billing.invoices,
  paid_on date NOT NULL,
  amount numeric(10,2) NOT NULL,
  method text NOT NULL CHECK (method IN ('card', 'transfer', 'cash', 'insurer'))
);

CREATE TABLE billing.claims (
  id integer PRIMARY KEY,
  invoice_id integer NOT NULL REFERENCES billing.invoices,
  plan_id integer NOT NULL REFERENCES billing.plans,
  state billing.claim_state NOT NULL,
  amount_claimed numeric(10,2) NOT NULL,
  amount_approved numeric(10,2),
  submitted_on date,
  decided_on date,
  denial_reason text
);

-- the old personnel system; its names never had more than eight letters

CREATE TABLE legacy_hr.dept_cd (
  dept_cd char(4) PRIMARY KEY,
  dept_nm varchar(40) NOT NULL,
  mgr_emp_no integer
);

CREATE TABLE legacy_hr.emp_mst (
  emp_no integer PRIMARY KEY,
  emp_nm varchar(60) NOT NULL,
  dept_cd char(4) NOT NULL REFERENCES legacy_hr.dept_cd,
  pos_cd char(2) NOT NULL CHECK (pos_cd IN ('AD', 'CL', 'IT', 'KT', 'NU', 'TR')),
  hire_dt date NOT NULL,
  term_dt date,
  sal_amt numeric(10,2) NOT NULL,
  fte_pct smallint NOT NULL,
  rpt_to_no integer REFERENCES legacy_hr.emp_mst
);

CREATE TABLE legacy_hr.shft_asgn (
  emp_no integer REFERENCES legacy_hr.emp_mst,
  shft_dt date,
  shft_typ char(1) NOT NULL CHECK (shft_typ IN ('E', 'L', 'N')),
  ot_hrs numeric(4,1) NOT NULL,
  PRIMARY KEY (emp_no, shft_dt)
);

CREATE TABLE legacy_hr.lv_req (
  req_id integer PRIMARY KEY,
  emp_no integer NOT NULL REFERENCES legacy_hr.emp_mst,
  lv_typ char(2) NOT NULL CHECK (lv_typ IN ('AL', 'SL', 'PL')),
  st_dt date NOT NULL,
  end_dt date NOT NULL,
  appr_flg char(1) NOT NULL CHECK (appr_flg IN ('Y', 'N', 'P'))
);

-- the portal's own framework writes its names in camel case

CREATE TABLE portal."userAccount" (
  "accountId" integer PRIMARY KEY,
  "patientId" integer NOT NULL UNIQUE REFERENCES clinical.patients,
  "emailAddress" text NOT NULL,
  "createdAt" timestamp NOT NULL,
  "lastLoginAt" timestamp,
  "twoFactorEnabled" boolean NOT NULL
);

CREATE TABLE portal."secureMessage" (
  "messageId" integer PRIMARY KEY,
  "accountId" integer NOT NULL REFERENCES portal."userAccount",
  "practitionerId" integer NOT NULL REFERENCES clinical.practitioners,
  "inReplyTo" integer REFERENCES portal."secureMessage",
  "sentByPatient" boolean NOT NULL,
  "sentAt" timestamp NOT NULL,
  "readAt" timestamp,
  "subjectLine" text NOT NULL
);

CREATE SCHEMA audit;
CREATE TABLE audit.record_access (
  id bigint PRIMARY KEY,
  practitioner_id integer NOT NULL,
  patient_id integer NOT NULL,
  accessed_at timestamp NOT NULL,
  action text NOT NULL CHECK (action IN ('view', 'edit', 'print', 'export')),
  break_glass boolean NOT NULL
);

CREATE VIEW clinical.current_inpatients AS
SELECT a.id AS admission_id, a.patient_id, p.mrn, p.given_name || ' ' || p.family_name AS patient_name,
       d.name AS department, a.admitted_at
FROM clinical.admissions a
JOIN clinical.patients p ON p.id = a.patient_id
JOIN clinical.departments d ON d.id = a.department_id
WHERE a.discharged_at IS NULL;

CREATE VIEW billing.invoice_balances AS
SELECT i.id AS invoice_id, i.invoice_no, i.patient_id, i.due_on, l.total,
       coalesce(p.paid, 0) AS paid, l.total - coalesce(p.paid, 0) AS balance
FROM billing.invoices i
JOIN (SELECT invoice_id, sum(quantity * unit_price)::numeric(12,2) AS total FROM billing.invoice_lines GROUP BY 1) l
  ON l.invoice_id = i.id
LEFT JOIN (SELECT invoice_id, sum(amount) AS paid FROM billing.payments GROUP BY 1) p ON p.invoice_id = i.id
WHERE NOT i.cancelled;

COMMENT ON TABLE clinical.patients IS 'Everyone who was ever registered; one row per person';
COMMENT ON COLUMN clinical.patients.mrn IS 'Medical record number';
COMMENT ON COLUMN clinical.patients.primary_physician_id IS 'Family doctor or consultant in charge';
COMMENT ON TABLE clinical.practitioners IS 'Clinical staff: doctors, nurses, therapists. Other employees are in the old personnel system';
COMMENT ON COLUMN clinical.practitioners.left_on IS 'Last working day; NULL while employed';
COMMENT ON TABLE clinical.admissions IS 'Stays in the hospital since 2024; older ones are in admissions_archive';
COMMENT ON COLUMN clinical.admissions.discharged_at IS 'NULL while the patient is still in the house';
COMMENT ON TABLE clinical.admissions_archive IS 'Stays that ended before 2024';
COMMENT ON TABLE clinical.encounters IS 'Every contact of a patient with a practitioner';
COMMENT ON COLUMN clinical.encounter_diagnoses.rank IS '1 is the main diagnosis';
COMMENT ON COLUMN clinical.medications.atc IS 'Anatomical Therapeutic Chemical code';
COMMENT ON COLUMN clinical.medications.controlled IS 'Narcotics and the like, kept in the safe';
COMMENT ON COLUMN clinical.vital_signs.spo2 IS 'Oxygen saturation in percent';
COMMENT ON TABLE lab.orders IS 'Tests asked for';
COMMENT ON COLUMN lab.results.flag IS 'H above, L below the reference range; NULL within';
COMMENT ON COLUMN facility.beds.admission_id IS 'Who lies in it; NULL where it is free';
COMMENT ON TABLE billing.coverages IS 'Which plan insured a patient, and when';
COMMENT ON COLUMN billing.coverages.valid_to IS 'NULL for a coverage that goes on';
COMMENT ON COLUMN billing.plans.copay_percent IS 'What the patient pays themself';
COMMENT ON TABLE billing.claims IS 'What was asked of an insurer for an invoice';
COMMENT ON VIEW billing.invoice_balances IS 'What is still to be paid; without cancelled invoices';
COMMENT ON TABLE legacy_hr.emp_mst IS 'Employee master: administration, kitchen, IT, transport and nursing aides';
COMMENT ON COLUMN legacy_hr.emp_mst.pos_cd IS 'AD administration, CL cleaning, IT, KT kitchen, NU nursing aide, TR transport';
COMMENT ON COLUMN legacy_hr.lv_req.lv_typ IS 'AL annual leave, SL sick leave, PL parental leave';
COMMENT ON COLUMN audit.record_access.break_glass IS 'Opened in an emergency without the usual permission';
