import type { QuestionText } from "./question.ts";

/** About the demo's shop. Its data ends on the day before it is made, so spans of time are relative to now. */
export const shopQuestions: readonly QuestionText[] = [
  {
    id: "shop_customers_germany",
    question: "How many customers do we have in Germany?",
    sql: "SELECT count(*) FROM customers WHERE country = 'DE'",
    tables: ["public.customers"],
    tags: ["value"],
  },
  {
    id: "shop_customers_germany_gold",
    question: "and how many of those are gold?",
    sql: "SELECT count(*) FROM customers WHERE country = 'DE' AND tier = 'gold'",
    tables: ["public.customers"],
    tags: ["value"],
    after: ["shop_customers_germany"],
  },
  {
    id: "shop_customers_germany_gold_list",
    question: "list their names and cities",
    sql: "SELECT full_name, city FROM customers WHERE country = 'DE' AND tier = 'gold'",
    tables: ["public.customers"],
    tags: ["value"],
    after: ["shop_customers_germany", "shop_customers_germany_gold"],
  },
  {
    id: "shop_most_expensive",
    question: "What are the 5 most expensive products we still sell? Name and price, dearest first.",
    sql: "SELECT name, price FROM products WHERE NOT discontinued ORDER BY price DESC LIMIT 5",
    ordered: true,
    tables: ["public.products"],
    tags: ["superlative"],
  },
  {
    id: "shop_sold_out",
    question: "which products are sold out right now?",
    sql: "SELECT name FROM products WHERE in_stock = 0 AND NOT discontinued",
    tables: ["public.products"],
  },
  {
    id: "shop_category_counts",
    question: "Number of products per category that are still on sale, just name and count",
    sql:
      "SELECT c.name, count(*) FROM products p JOIN categories c ON c.id = p.category_id WHERE NOT p.discontinued GROUP BY c.id, c.name",
    tables: ["public.products", "public.categories"],
  },
  {
    id: "shop_department_children",
    question: "Which categories belong to the Kitchen department?",
    sql: `SELECT c.name FROM categories c JOIN categories d ON d.id = c.parent_id WHERE d.name = 'Kitchen'`,
    tables: ["public.categories"],
    tags: ["self_join", "value"],
  },
  {
    id: "shop_suppliers_slow",
    question: "Show me vendors who need more than 30 days to deliver to us, and how many days they need",
    sql: "SELECT name, lead_time_days FROM suppliers WHERE lead_time_days > 30",
    tables: ["public.suppliers"],
    tags: ["hard"],
  },
  {
    id: "shop_japanese_goods",
    question: "everything we buy from the japanese supplier, with the price",
    sql:
      "SELECT p.name, p.price FROM products p JOIN suppliers s ON s.id = p.supplier_id WHERE s.country = 'JP'",
    tables: ["public.products", "public.suppliers"],
    tags: ["value"],
  },
  {
    id: "shop_revenue_last_month",
    question: "What was our revenue last month?",
    sql:
      "SELECT revenue FROM monthly_revenue WHERE month = date_trunc('month', now() - interval '1 month')::date",
    tables: ["public.monthly_revenue"],
    otherTables: [["public.order_totals"], ["public.orders", "public.order_lines"]],
    tags: ["time", "view"],
  },
  {
    id: "shop_best_month",
    question: "which of the last 12 full months brought in the most money",
    sql: `SELECT month FROM monthly_revenue
WHERE month >= date_trunc('month', now()) - interval '12 months' AND month < date_trunc('month', now())
ORDER BY revenue DESC LIMIT 1`,
    tables: ["public.monthly_revenue"],
    otherTables: [["public.order_totals"], ["public.orders", "public.order_lines"]],
    tags: ["time", "superlative", "view", "hard"],
  },
  {
    id: "shop_top_spenders",
    question: "Top 10 customers by what they spent with us in total, returns and cancellations don't count",
    sql: `SELECT c.full_name, sum(t.total) AS spent
FROM order_totals t JOIN customers c ON c.id = t.customer_id
WHERE t.status NOT IN ('cancelled', 'returned')
GROUP BY c.id, c.full_name ORDER BY spent DESC LIMIT 10`,
    ordered: true,
    tables: ["public.customers", "public.order_totals"],
    otherTables: [["public.customers", "public.orders", "public.order_lines"]],
    tags: ["superlative", "view"],
  },
  {
    id: "shop_never_ordered",
    question: "How many people signed up but never bought anything?",
    sql:
      `SELECT count(*) FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)`,
    tables: ["public.customers", "public.orders"],
    tags: ["anti_join", "hard"],
  },
  {
    id: "shop_unreviewed_products",
    question: "products without a single review",
    sql: "SELECT p.name FROM products p LEFT JOIN reviews r ON r.product_id = p.id WHERE r.id IS NULL",
    tables: ["public.products", "public.reviews"],
    tags: ["anti_join"],
  },
  {
    id: "shop_return_rate",
    question: "What percentage of orders gets sent back?",
    sql: "SELECT round(100.0 * count(*) FILTER (WHERE status = 'returned') / count(*), 2) FROM orders",
    tables: ["public.orders"],
    tags: ["ratio", "hard"],
  },
  {
    id: "shop_delivery_time",
    question: "How many days does it take on average from shipping to delivery, by country of the customer?",
    sql: `SELECT c.country, avg(extract(epoch FROM o.delivered_at - o.shipped_at) / 86400)
FROM orders o JOIN customers c ON c.id = o.customer_id
WHERE o.delivered_at IS NOT NULL GROUP BY c.country`,
    tables: ["public.orders", "public.customers"],
    tags: ["time"],
  },
  {
    id: "shop_unshipped",
    question: "How many orders are paid but haven't left the warehouse yet?",
    sql: "SELECT count(*) FROM orders WHERE status = 'paid' AND shipped_at IS NULL",
    tables: ["public.orders"],
  },
  {
    id: "shop_bad_reviews_tents",
    question: "Show title and text of one and two star reviews for tents",
    sql: `SELECT r.title, r.body FROM reviews r
JOIN products p ON p.id = r.product_id JOIN categories c ON c.id = p.category_id
WHERE r.rating <= 2 AND c.name = 'Tents'`,
    tables: ["public.reviews", "public.products", "public.categories"],
    tags: ["value"],
  },
  {
    id: "shop_margin_supplier",
    question: "average margin in percent of the selling price per suplier",
    sql: `SELECT s.name, avg(100 * (p.price - p.cost) / p.price)
FROM products p JOIN suppliers s ON s.id = p.supplier_id GROUP BY s.id, s.name`,
    tables: ["public.products", "public.suppliers"],
    tags: ["ratio", "typo"],
  },
  {
    id: "shop_mixed_orders",
    question: "How many orders contain goods from more than one department?",
    sql: `SELECT count(*) FROM (
  SELECT l.order_id FROM order_lines l JOIN products p ON p.id = l.product_id JOIN categories c ON c.id = p.category_id
  GROUP BY l.order_id HAVING count(DISTINCT c.parent_id) > 1
) mixed`,
    tables: ["public.order_lines", "public.products", "public.categories"],
    tags: ["hard"],
  },
  {
    id: "shop_lisbon_outdoor",
    question: "names of the customers from Lisboa who ever ordered something from the Outdoor department",
    sql: `SELECT DISTINCT c.full_name FROM customers c
JOIN orders o ON o.customer_id = c.id JOIN order_lines l ON l.order_id = o.id
JOIN products p ON p.id = l.product_id JOIN categories k ON k.id = p.category_id
JOIN categories d ON d.id = k.parent_id
WHERE c.city = 'Lisboa' AND d.name = 'Outdoor'`,
    tables: [
      "public.customers",
      "public.orders",
      "public.order_lines",
      "public.products",
      "public.categories",
    ],
    tags: ["value", "hard"],
  },
  {
    id: "shop_best_seller_units",
    question: "What did we sell the most pieces of over all time, and how many?",
    sql: "SELECT name, units_sold FROM product_sales ORDER BY units_sold DESC FETCH FIRST ROW WITH TIES",
    tables: ["public.product_sales"],
    otherTables: [["public.products", "public.orders", "public.order_lines"]],
    tags: ["superlative", "view"],
  },
  {
    id: "shop_best_seller_each_category",
    question: "and the same for every category, please, all of them where several share the first place",
    sql: `SELECT category, name, units_sold FROM (
  SELECT category, name, units_sold, rank() OVER (PARTITION BY category ORDER BY units_sold DESC) AS place FROM product_sales
) ranked WHERE place = 1`,
    tables: ["public.product_sales"],
    otherTables: [["public.products", "public.orders", "public.order_lines", "public.categories"]],
    tags: ["superlative", "view"],
    after: ["shop_best_seller_units"],
  },
  {
    id: "shop_newsletter_share",
    question: "percentage of newsletter subscribers per loyalty level",
    sql: "SELECT tier, 100 * avg(newsletter::integer) FROM customers GROUP BY tier",
    tables: ["public.customers"],
    tags: ["ratio"],
  },
  {
    id: "shop_best_customers",
    question: "Who are our best customers?",
    expects: "question",
    tables: ["public.customers", "public.order_totals"],
  },
];
