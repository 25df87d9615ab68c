/** What a visitor of the demo may ask, where the handbook answers it, and what a right answer must hold. */
export interface HandbookQuestion {
  readonly question: string;
  readonly page: string;
  readonly section: string;
  readonly phrase: string;
}

const questions: readonly (readonly [question: string, page: string, section: string, phrase: string])[] = [
  ["How many days of annual leave do I get?", "leave", "Annual leave", "28 days"],
  ["Who approves expenses over 500 euros?", "expenses", "Who approves expenses", "head of your department"],
  [
    "What benefits does the gold tier get?",
    "loyalty",
    "Benefits of each tier",
    "free shipping on every order",
  ],
  ["How long can a gold customer return a product?", "returns", "Return window", "60 days"],
  ["When is an unpaid order cancelled?", "orders", "Payment deadline", "7 days"],
  [
    "Can a customer cancel an order after it was shipped?",
    "orders",
    "Cancelling an order",
    "until it is shipped",
  ],
  ["How much does shipping a bulky parcel cost?", "shipping", "Shipping fees", "9.90 euros"],
  ["Do we ship to the United States?", "shipping", "Countries we ship to", "not ship to the United States"],
  ["Who pays customs for parcels to Switzerland?", "shipping", "Customs", "We pay the customs duty"],
  ["When does a parcel count as lost?", "shipping", "Lost and late parcels", "after 14 days"],
  ["How quickly are refunds paid?", "returns", "Refunds", "within 5 working days"],
  ["Which products can't be returned?", "returns", "What can't be returned", "Gift cards"],
  [
    "How long is the warranty if the product page shows none?",
    "warranties",
    "How long a warranty lasts",
    "2 years",
  ],
  [
    "What does it cost to have a kitchen knife sharpened?",
    "warranties",
    "Repairs after the warranty",
    "6 euros",
  ],
  ["How much must a customer spend to become gold?", "loyalty", "How customers reach a tier", "1,000 euros"],
  [
    "When is customer service open on Saturday?",
    "customer_service",
    "Opening hours and channels",
    "09:00 to 14:00",
  ],
  ["How much goodwill may an agent give without asking?", "customer_service", "Goodwill", "25 euros"],
  ["What does an SKU look like?", "catalog", "Product numbers", "AL-1007"],
  ["Do we delete bad reviews?", "catalog", "Reviews", "never delete a bad review"],
  ["Who can approve a discount of 20 percent?", "promotions", "Allowed discounts", "head of marketing"],
  ["What weight may one person lift alone in the warehouse?", "warehouse", "Heavy goods", "20 kg"],
  ["When do I need a doctor's note?", "leave", "Sick leave", "fourth day"],
  ["Until when can I use leave carried over from last year?", "leave", "Carrying leave over", "31 March"],
  ["How many days a week can I work from home?", "working_hours", "Remote work", "3 days a week"],
  ["How much may a hotel in London cost?", "expenses", "Hotels", "190 euros"],
  ["How big is the staff discount?", "benefits", "Staff discount", "30 percent"],
  ["How long is the probation period?", "hiring", "Probation", "6 months"],
  ["My laptop was stolen, what should I do?", "security", "Lost or stolen devices", "security hotline"],
  ["How fast do we have to respond to an S1 incident?", "on_call", "Severity levels", "10 minutes"],
  ["How long are job applications kept?", "data_retention", "How long we keep data", "6 months"],
];

export const handbookQuestions: readonly HandbookQuestion[] = questions.map(
  ([question, page, section, phrase]) => ({ question, page, section, phrase }),
);
