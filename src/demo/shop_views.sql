-- What stands on the tables; made after they are filled, which is faster.

CREATE INDEX products_category_id_idx ON products (category_id);
CREATE INDEX products_supplier_id_idx ON products (supplier_id);
CREATE INDEX products_attributes_idx ON products USING gin (attributes);
CREATE INDEX products_tags_idx ON products USING gin (tags);
CREATE INDEX orders_customer_id_idx ON orders (customer_id);
CREATE INDEX orders_placed_at_idx ON orders (placed_at);
CREATE INDEX order_lines_product_id_idx ON order_lines (product_id);
CREATE INDEX reviews_customer_id_idx ON reviews (customer_id);

CREATE VIEW order_totals AS
SELECT o.id AS order_id, o.customer_id, o.status, o.placed_at,
       count(*) AS line_count,
       round(sum(l.quantity * l.unit_price) * (100 - o.discount_percent) / 100, 2) AS goods_total,
       round(sum(l.quantity * l.unit_price) * (100 - o.discount_percent) / 100, 2) + o.shipping_fee AS total
FROM orders o JOIN order_lines l ON l.order_id = o.id
GROUP BY o.id;

CREATE VIEW monthly_revenue AS
SELECT date_trunc('month', placed_at)::date AS month,
       count(*) AS order_count,
       sum(goods_total) AS revenue,
       round(avg(goods_total), 2) AS average_order_value
FROM order_totals
WHERE status NOT IN ('cancelled', 'returned')
GROUP BY 1;

CREATE MATERIALIZED VIEW product_sales AS
SELECT p.id AS product_id, p.name, c.name AS category,
       coalesce(s.units_sold, 0) AS units_sold,
       coalesce(s.revenue, 0)::numeric(12,2) AS revenue,
       r.review_count, r.average_rating
FROM products p
JOIN categories c ON c.id = p.category_id
LEFT JOIN (
  SELECT l.product_id, sum(l.quantity) AS units_sold, sum(l.quantity * l.unit_price) AS revenue
  FROM order_lines l JOIN orders o ON o.id = l.order_id
  WHERE o.status NOT IN ('cancelled', 'returned')
  GROUP BY l.product_id
) s ON s.product_id = p.id
CROSS JOIN LATERAL (
  SELECT count(*) AS review_count, round(avg(rating), 2) AS average_rating FROM reviews WHERE product_id = p.id
) r;
CREATE UNIQUE INDEX product_sales_product_id_idx ON product_sales (product_id);

-- What a model reads to understand the tables.

COMMENT ON TABLE suppliers IS 'Companies that the shop buys its products from';
COMMENT ON COLUMN suppliers.country IS 'ISO 3166-1 alpha-2 code';
COMMENT ON COLUMN suppliers.lead_time_days IS
  'Days from an order with the supplier to the goods in the warehouse';
COMMENT ON COLUMN suppliers.partner_since IS 'Day of the first contract';
COMMENT ON TABLE categories IS 'Product categories in two levels: departments, and the categories in them';
COMMENT ON COLUMN categories.parent_id IS 'The department; NULL for a department itself';
COMMENT ON TABLE products IS 'Everything that the shop sells or sold; always in a category of the second level';
COMMENT ON COLUMN products.sku IS 'Stock keeping unit, printed on the label';
COMMENT ON COLUMN products.price IS
  'Current price in EUR, value-added tax included; past prices are in order_lines.unit_price';
COMMENT ON COLUMN products.cost IS 'What the supplier charges for one, in EUR';
COMMENT ON COLUMN products.in_stock IS 'Pieces in the warehouse now';
COMMENT ON COLUMN products.tags IS 'Words for the search, for example bestseller, handmade, vegan';
COMMENT ON COLUMN products.attributes IS
  'Facts that differ by category: material, color, weight_g, dimensions_cm, warranty_years';
COMMENT ON COLUMN products.discontinued IS 'True once it is no longer sold';
COMMENT ON TABLE customers IS 'People with an account';
COMMENT ON COLUMN customers.tier IS 'Loyalty level; gold ships for free';
COMMENT ON COLUMN customers.country IS 'ISO 3166-1 alpha-2 code';
COMMENT ON COLUMN customers.birth_date IS 'NULL where the customer did not tell it';
COMMENT ON TABLE orders IS 'One row for each order placed, cancelled ones too';
COMMENT ON COLUMN orders.status IS
  'pending → paid → shipped → delivered; or cancelled before shipping, or returned after delivery';
COMMENT ON COLUMN orders.placed_at IS 'When the customer placed the order';
COMMENT ON COLUMN orders.shipped_at IS 'When the parcel left the warehouse; NULL until then';
COMMENT ON COLUMN orders.delivered_at IS 'When the parcel reached the customer; NULL until then';
COMMENT ON COLUMN orders.shipping_fee IS 'In EUR';
COMMENT ON COLUMN orders.discount_percent IS 'Taken off the sum of the lines';
COMMENT ON COLUMN orders.note IS 'What the customer wrote for the warehouse';
COMMENT ON TABLE order_lines IS 'The products of an order';
COMMENT ON COLUMN order_lines.unit_price IS 'Price of one in EUR on the day of the order';
COMMENT ON TABLE reviews IS 'Customers'' opinions of products; at most one for each customer and product';
COMMENT ON COLUMN reviews.rating IS '1 (bad) to 5 (excellent)';
COMMENT ON COLUMN reviews.helpful_votes IS 'How many readers found it helpful';
COMMENT ON VIEW order_totals IS
  'Each order with its sum after discount (goods_total) and with shipping (total), in EUR';
COMMENT ON VIEW monthly_revenue IS
  'Orders and revenue by month in EUR, without shipping, cancelled and returned orders';
COMMENT ON MATERIALIZED VIEW product_sales IS
  'Units, revenue in EUR and ratings of each product over all time; computed when the demo starts';
