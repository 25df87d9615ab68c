/** The words that the 2,000 tables of `erp_schema.ts` are made of. */

export interface ErpModule {
  readonly schema: string;
  /** Before every table's name, where several modules share a schema. */
  readonly prefix?: string;
  /** As people call it, for comments. */
  readonly title: string;
  /** Names are written in the short forms of `shortForms`. */
  readonly abbreviates?: true;
  /** Sixteen; a table may refer to those before it. */
  readonly entities: string;
  /** Columns that are found in this module alone; their last word tells the type. */
  readonly columns: string;
}

/** In an order that foreign keys between modules allow. */
export const erpModules: readonly ErpModule[] = [
  {
    schema: "core",
    prefix: "mdm_",
    title: "master data",
    entities:
      "company site currency_rate country language unit_of_measure address bank calendar holiday business_partner partner_role classification numbering_range exchange_type region",
    columns: "iso_code valid_from_date valid_to_date is_default local_name time_zone parent_code sort_level",
  },
  {
    schema: "core",
    prefix: "sys_",
    title: "system administration",
    entities:
      "user role permission session job job_run parameter message_template print_queue interface_endpoint interface_call feature_flag license tenant batch_input error_entry",
    columns:
      "login_name last_seen_at retry_count payload_text host_name is_locked run_seconds_count severity_level",
  },
  {
    schema: "core",
    prefix: "wf_",
    title: "workflow",
    entities:
      "process process_step task task_assignment escalation delegation decision_rule deadline inbox_item event_trigger approval_matrix substitution form form_field outcome subscription",
    columns:
      "assignee_name due_at completed_at step_number_count rule_text outcome_code is_parallel reminder_days",
  },
  {
    schema: "hr",
    title: "human resources",
    entities:
      "department employee absence training training_attendance job_posting applicant interview position performance_review salary_grade benefit benefit_enrollment skill employee_skill disciplinary_action",
    columns:
      "grade_code headcount_count notice_days review_score contract_type is_manager probation_end_date weekly_hours",
  },
  {
    schema: "inventory",
    title: "inventory",
    entities:
      "item_group item warehouse storage_bin stock_balance stock_movement cycle_count cycle_count_line lot serial_number reservation transfer_order packaging_unit reorder_policy consignment_stock item_substitute",
    columns:
      "bin_code lot_number shelf_life_days counted_quantity variance_quantity abc_class is_hazardous pallet_count",
  },
  {
    schema: "sales",
    title: "sales",
    entities:
      "customer sales_order sales_order_line quotation price_list price_list_line discount_agreement commission sales_territory sales_target return_order customer_contact delivery_schedule contract rebate order_block",
    columns:
      "territory_code commission_percent target_amount incoterm_code priority_level is_export lost_reason_text net_amount",
  },
  {
    schema: "procurement",
    title: "procurement",
    entities:
      "supplier purchase_order purchase_order_line purchase_requisition request_for_quotation supplier_bid framework_agreement goods_receipt goods_receipt_line supplier_evaluation supplier_contact vendor_return approved_source spend_category sourcing_event contract_release",
    columns:
      "lead_time_days incoterm_code minimum_quantity bid_amount savings_amount is_single_source buyer_group delivery_score",
  },
  {
    schema: "production",
    title: "production",
    entities:
      "machine work_order bill_of_material machine_downtime routing routing_operation work_center shift_plan scrap_report production_lot tool tool_usage capacity_plan kanban_card setup_matrix operation_confirmation",
    columns:
      "cycle_time_minutes setup_minutes planned_quantity yield_percent operator_name shift_code is_bottleneck batch_number",
  },
  {
    schema: "quality",
    title: "quality management",
    entities:
      "inspection complaint inspection_plan inspection_characteristic defect defect_code corrective_action audit audit_finding certificate measuring_device calibration sample_lot deviation supplier_claim control_chart",
    columns:
      "defect_count sample_quantity measured_value upper_limit_value lower_limit_value root_cause_text is_critical audit_score",
  },
  {
    schema: "logistics",
    title: "logistics",
    entities:
      "carrier shipment route vehicle driver freight_rate freight_invoice loading_dock dock_appointment customs_declaration container tracking_event delivery_note packing_list return_shipment toll_charge",
    columns:
      "tracking_number distance_km_count gross_weight_quantity freight_amount customs_code is_express seal_number stop_count",
  },
  {
    schema: "crm",
    title: "customer relations",
    entities:
      "lead opportunity campaign_response activity call_log meeting survey survey_answer contact_person account_plan competitor referral newsletter_subscription loyalty_account loyalty_transaction territory_visit",
    columns:
      "channel_name probability_percent expected_amount next_step_text satisfaction_score is_decision_maker contacted_at points_count",
  },
  {
    schema: "service",
    title: "after-sales service",
    entities:
      "service_ticket service_contract installed_base warranty_claim field_visit spare_part_usage service_level knowledge_article technician_skill repair_order loan_device remote_session service_price callback escalation_note site_survey",
    columns:
      "response_minutes resolution_minutes failure_code warranty_end_date travel_km_count is_billable technician_name visit_date",
  },
  {
    schema: "projects",
    title: "project management",
    entities:
      "project timesheet_entry project_phase milestone project_risk project_issue resource_plan project_budget project_cost change_request deliverable dependency project_member status_report billing_plan lesson",
    columns:
      "planned_hours actual_hours completion_percent risk_score baseline_date budget_amount is_milestone phase_code",
  },
  {
    schema: "assets",
    title: "fixed assets",
    entities:
      "fixed_asset depreciation_area depreciation_run asset_transfer asset_disposal asset_class insurance_policy lease lease_payment revaluation inventory_check asset_component asset_location warranty impairment asset_owner",
    columns:
      "useful_life_days book_amount salvage_amount depreciation_percent policy_number is_leased disposal_date location_code",
  },
  {
    schema: "marketing",
    title: "marketing",
    entities:
      "campaign campaign_budget audience advertisement ad_placement media_plan event event_registration sponsorship brand_asset landing_page email_send email_click promotion coupon trade_fair",
    columns:
      "click_count impression_count conversion_percent media_cost channel_name audience_name is_paid send_at",
  },
  {
    schema: "planning",
    title: "supply planning",
    entities:
      "demand_forecast forecast_version supply_plan planned_order safety_stock_rule scenario allocation planning_calendar consensus_round forecast_accuracy seasonality_profile lifecycle_plan capacity_bucket exception_message planner_group promotion_uplift",
    columns:
      "bucket_date forecast_quantity confirmed_quantity horizon_days accuracy_percent scenario_name is_frozen planner_name",
  },
  {
    schema: "compliance",
    title: "compliance",
    entities:
      "policy policy_acknowledgement control control_test risk_register incident whistleblower_case sanction_check export_license data_request retention_rule training_requirement regulation finding remediation third_party_review",
    columns:
      "control_code residual_score likelihood_level impact_level next_review_date is_reportable regulator_name case_number",
  },
  {
    schema: "fin",
    prefix: "gl_",
    title: "general ledger",
    abbreviates: true,
    entities:
      "account cost_center journal_header journal_line ledger posting_period allocation_rule budget_version budget_line recurring_entry intercompany_rule consolidation_unit reporting_node tax_posting clearing_item balance_carryforward",
    columns:
      "account_number posting_date fiscal_year_code debit_amount credit_amount cost_center_code document_number is_reversed",
  },
  {
    schema: "fin",
    prefix: "ar_",
    title: "accounts receivable",
    abbreviates: true,
    entities:
      "invoice customer_account receipt receipt_allocation dunning_run dunning_notice credit_memo write_off payment_plan direct_debit_mandate interest_charge dispute collection_case credit_insurance deposit open_item",
    columns:
      "due_date open_amount dunning_level payment_terms_code cleared_date reference_number bank_account_number discount_amount",
  },
  {
    schema: "fin",
    prefix: "ap_",
    title: "accounts payable",
    abbreviates: true,
    entities:
      "invoice supplier_account payment payment_run payment_proposal withholding invoice_match invoice_hold prepayment expense_report expense_line check_register bank_transfer vendor_statement discount_offer open_item",
    columns:
      "due_date open_amount payment_method_code cleared_date reference_number bank_account_number discount_amount hold_reason_text",
  },
  {
    schema: "fin",
    prefix: "tr_",
    title: "treasury",
    abbreviates: true,
    entities:
      "bank_account bank_statement statement_line cash_position cash_forecast loan loan_schedule currency_hedge deal counterparty guarantee deposit interest_rate payment_batch bank_fee signatory",
    columns:
      "value_date balance_amount interest_rate maturity_date deal_number counterparty_name bank_code fee_amount",
  },
  {
    schema: "fin",
    prefix: "tx_",
    title: "tax",
    abbreviates: true,
    entities:
      "tax_code tax_rate tax_return return_line tax_jurisdiction exemption vat_registration withholding_certificate tax_audit transfer_price intrastat_line provision deferred_item digital_report tax_calendar fiscal_stamp",
    columns:
      "tax_amount base_amount tax_rate period_code filing_date jurisdiction_code assessment_number penalty_amount",
  },
  {
    schema: "payroll",
    title: "payroll",
    abbreviates: true,
    entities:
      "salary_slip wage_type payment_element deduction payroll_period payroll_run employee_bank_account tax_class social_insurance overtime_record bonus garnishment pension_plan absence_deduction company_car reimbursement",
    columns:
      "employee_number gross_amount net_amount overtime_hours tax_amount period_code payment_date deduction_amount",
  },
  {
    schema: "plant",
    prefix: "mnt_",
    title: "plant maintenance",
    entities:
      "equipment maintenance_plan maintenance_order failure_notification inspection_round spare_part lubrication_point shutdown permit_to_work measuring_point measurement technician_shift task_list functional_location contractor contractor_visit",
    columns:
      "failure_at repair_minutes cost_amount interval_days running_hours is_safety_relevant vendor_name next_due_date",
  },
  {
    schema: "plant",
    prefix: "ene_",
    title: "energy and environment",
    entities:
      "meter meter_reading energy_contract tariff emission_source emission_record waste_stream waste_pickup water_usage energy_target outage generator battery_storage carbon_certificate heat_map air_sample",
    columns:
      "reading_value consumption_quantity tariff_code peak_value emission_quantity supplier_name is_renewable measured_at",
  },
];

/** Columns that say nothing about the business; what stands after the colon is the comment, where there is one. */
export const bookkeepingColumns: readonly string[] = [
  "created_at:When the row was entered",
  "created_by:Login of who entered the row",
  "changed_at:When the row was last changed",
  "changed_by:Login of who changed it last",
  "remark",
  "source_system:SAP, LEGACY, WEB or EDI",
  "external_reference:Key in the system that delivered the row",
];

/** Columns that any table may have. */
export const commonColumns: readonly string[] = [
  ...bookkeepingColumns,
  "description:Free text for people",
  "status_code:Current step of the life cycle",
  "currency_code:ISO 4217",
  "total_amount:In the document's currency",
  "valid_from_date",
  "valid_to_date:Empty while it goes on",
  "is_active:False once it must not be used any more",
  "sort_level",
  "language_code",
  "category_name",
  "priority_level",
  "document_number:Printed on the paper",
  "document_date:The day on the paper",
  "approved_at",
  "approved_by",
  "version_count",
  "owner_name",
  "quantity",
  "unit_code",
  "reason_code",
  "company_code",
];

/** What abbreviating modules make of a word. */
export const shortForms: Readonly<Record<string, string>> = {
  account: "acct",
  amount: "amt",
  balance: "bal",
  bank: "bnk",
  center: "ctr",
  code: "cd",
  company: "cmpny",
  cost: "cst",
  credit: "cr",
  currency: "crcy",
  customer: "cust",
  date: "dt",
  debit: "dr",
  deduction: "ded",
  description: "descr",
  document: "doc",
  dunning: "dun",
  employee: "emp",
  gross: "grs",
  header: "hdr",
  history: "hst",
  archive: "arc",
  staging: "stg",
  insurance: "ins",
  interest: "int",
  invoice: "inv",
  journal: "jrnl",
  level: "lvl",
  line: "ln",
  number: "no",
  open: "opn",
  overtime: "ot",
  payment: "pymt",
  period: "prd",
  posting: "pstg",
  quantity: "qty",
  receipt: "rcpt",
  reference: "ref",
  salary: "slry",
  statement: "stmt",
  status: "sts",
  supplier: "spl",
  total: "tot",
  transfer: "trf",
  withholding: "wht",
};

/** Tables that hang on another one. */
export const satellites: readonly string[] = [
  "attachment",
  "approval",
  "comment",
  "status_log",
  "tag",
  "assignment",
  "setting",
  "translation",
  "checklist",
  "notification",
];
