-- how many orders were placed last month
SELECT count(*) AS count
FROM orders
WHERE placed_at >= date_trunc('month', now()) - interval '1 month'
  AND placed_at < date_trunc('month', now());

-- show the ten most expensive products
SELECT *
FROM products
ORDER BY price DESC, id
LIMIT 10;

-- count customers
SELECT count(*) AS count
FROM customers;

-- how many reviews per product
SELECT product_id, count(*) AS count
FROM reviews
GROUP BY 1
ORDER BY 2 DESC, 1;

-- average order total per month
SELECT date_trunc('month', placed_at)::date AS month, avg(total) AS average_total
FROM orders
GROUP BY 1
ORDER BY 1;

-- top 5 customers by credit limit
SELECT *
FROM customers
ORDER BY credit_limit DESC NULLS LAST, id
LIMIT 5;

-- latest 10 orders
SELECT *
FROM orders
ORDER BY placed_at DESC, id
LIMIT 10;

-- oldest orders
SELECT *
FROM orders
ORDER BY placed_at, id;

-- cheapest product
SELECT *
FROM products
WHERE price = (SELECT min(price) FROM products)
ORDER BY id;

-- show me the cheapest products
SELECT *
FROM products
ORDER BY price, id;

-- highest price of products
SELECT max(price) AS highest_price
FROM products;

-- products with the highest price
SELECT *
FROM products
ORDER BY price DESC, id;

-- which product has the highest price
SELECT *
FROM products
WHERE price = (SELECT max(price) FROM products)
ORDER BY id;

-- lowest order total
SELECT min(total) AS lowest_total
FROM orders;

-- total revenue of orders per month
SELECT date_trunc('month', placed_at)::date AS month, sum(total) AS sum_total
FROM orders
GROUP BY 1
ORDER BY 1;

-- total revenue per month
SELECT date_trunc('month', placed_at)::date AS month, sum(total) AS sum_total
FROM orders
GROUP BY 1
ORDER BY 1;

-- total revenue
SELECT sum(revenue) AS sum_revenue
FROM order_totals;

-- average rating
SELECT avg(rating) AS average_rating
FROM reviews;

-- orders today
SELECT *
FROM orders
WHERE placed_at >= date_trunc('day', now())
  AND placed_at < date_trunc('day', now()) + interval '1 day'
ORDER BY id;

-- orders yesterday
SELECT *
FROM orders
WHERE placed_at >= date_trunc('day', now()) - interval '1 day'
  AND placed_at < date_trunc('day', now())
ORDER BY id;

-- orders this week
SELECT *
FROM orders
WHERE placed_at >= date_trunc('week', now())
  AND placed_at < date_trunc('week', now()) + interval '1 week'
ORDER BY id;

-- last week's orders
SELECT *
FROM orders
WHERE placed_at >= date_trunc('week', now()) - interval '1 week'
  AND placed_at < date_trunc('week', now())
ORDER BY id;

-- orders this month
SELECT *
FROM orders
WHERE placed_at >= date_trunc('month', now())
  AND placed_at < date_trunc('month', now()) + interval '1 month'
ORDER BY id;

-- orders last year
SELECT *
FROM orders
WHERE placed_at >= date_trunc('year', now()) - interval '1 year'
  AND placed_at < date_trunc('year', now())
ORDER BY id;

-- orders in 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2026-01-01'
ORDER BY id;

-- orders in March 2026
SELECT *
FROM orders
WHERE placed_at >= '2026-03-01'
  AND placed_at < '2026-04-01'
ORDER BY id;

-- orders since 2025-01-01
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
ORDER BY id;

-- orders between 2025-01-01 and 2025-03-31
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2025-04-01'
ORDER BY id;

-- orders between January 2025 and March 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2025-04-01'
ORDER BY id;

-- orders in the last 30 days
SELECT *
FROM orders
WHERE placed_at >= now() - interval '30 days'
  AND placed_at < now()
ORDER BY id;

-- orders from 2025-01-01 to 2025-02-01
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2025-02-02'
ORDER BY id;

-- products with price over 100
SELECT *
FROM products
WHERE price > 100
ORDER BY id;

-- products under $20
SELECT *
FROM products
WHERE price < 20
ORDER BY id;

-- products with a price of at least 10
SELECT *
FROM products
WHERE price >= 10
ORDER BY id;

-- products with price at most 10
SELECT *
FROM products
WHERE price <= 10
ORDER BY id;

-- products with price between 10 and 20
SELECT *
FROM products
WHERE price BETWEEN 10 AND 20
ORDER BY id;

-- products cheaper than 20
SELECT *
FROM products
WHERE price < 20
ORDER BY id;

-- orders with status shipped
SELECT *
FROM orders
WHERE status = 'shipped'
ORDER BY id;

-- shipped orders
SELECT *
FROM orders
WHERE status = 'shipped'
ORDER BY id;

-- orders that are pending or paid
SELECT *
FROM orders
WHERE status IN ('pending', 'paid')
ORDER BY id;

-- orders where status is not cancelled
SELECT *
FROM orders
WHERE status <> 'cancelled'
ORDER BY id;

-- orders in transit
SELECT *
FROM orders
WHERE status = 'in_transit'
ORDER BY id;

-- orders delivered last month
SELECT *
FROM orders
WHERE delivered_at >= date_trunc('month', now()) - interval '1 month'
  AND delivered_at < date_trunc('month', now())
ORDER BY id;

-- products in category Garden
SELECT *
FROM products
WHERE lower(category) = lower('Garden')
ORDER BY id;

-- products in category 'Garden tools'
SELECT *
FROM products
WHERE category = 'Garden tools'
ORDER BY id;

-- products in category Garden Tools under 20 dollars
SELECT *
FROM products
WHERE lower(category) = lower('Garden Tools')
  AND price < 20
ORDER BY id;

-- distinct categories of products
SELECT DISTINCT category
FROM products
ORDER BY category;

-- how many different categories of products are there
SELECT count(DISTINCT category) AS distinct_category
FROM products;

-- how many products per category
SELECT category, count(*) AS count
FROM products
GROUP BY 1
ORDER BY 2 DESC, 1;

-- order lines of product 12
SELECT *
FROM order_lines
WHERE product_id = 12
ORDER BY order_id, product_id;

-- order 17
SELECT *
FROM orders
WHERE id = 17
ORDER BY id;

-- show 5 products
SELECT *
FROM products
ORDER BY id
LIMIT 5;

-- list all customers
SELECT *
FROM customers
ORDER BY id;

-- active customers
SELECT *
FROM customers
WHERE is_active
ORDER BY id;

-- inactive customers
SELECT *
FROM customers
WHERE NOT is_active
ORDER BY id;

-- customers that are not active
SELECT *
FROM customers
WHERE NOT is_active
ORDER BY id;

-- customers in country Germany
SELECT *
FROM customers
WHERE lower(country) = lower('Germany')
ORDER BY id;

-- customers without a phone
SELECT *
FROM customers
WHERE (phone = '' OR phone IS NULL)
ORDER BY id;

-- customers whose city is Berlin
SELECT *
FROM customers
WHERE lower(city) = lower('Berlin')
ORDER BY id;

-- products tagged summer
SELECT *
FROM products
WHERE 'summer' = ANY (tags)
ORDER BY id;

-- products with tag 'summer'
SELECT *
FROM products
WHERE 'summer' = ANY (tags)
ORDER BY id;

-- reviews with rating 4 or more
SELECT *
FROM reviews
WHERE rating >= 4
ORDER BY id;

-- 5 star reviews
SELECT *
FROM reviews
WHERE rating = 5
ORDER BY id;

-- reviews rated at least 4
SELECT *
FROM reviews
WHERE rating >= 4
ORDER BY id;

-- best rated reviews
SELECT *
FROM reviews
ORDER BY rating DESC, id;

-- average rating per product
SELECT product_id, avg(rating) AS average_rating
FROM reviews
GROUP BY 1
ORDER BY 2 DESC, 1;

-- minimum, maximum and average price of products per category
SELECT category, min(price) AS lowest_price, max(price) AS highest_price, avg(price) AS average_price
FROM products
GROUP BY 1
ORDER BY 2 DESC, 1;

-- show name and price of products
SELECT name, price
FROM products
ORDER BY id;

-- show product names and prices
SELECT name, price
FROM products
ORDER BY id;

-- show the email of active customers sorted by name
SELECT email
FROM customers
WHERE is_active
ORDER BY name, id;

-- list products by price descending
SELECT *
FROM products
ORDER BY price DESC, id;

-- orders by month
SELECT date_trunc('month', placed_at)::date AS month, count(*) AS count
FROM orders
GROUP BY 1
ORDER BY 1;

-- count orders by status
SELECT status, count(*) AS count
FROM orders
GROUP BY 1
ORDER BY 2 DESC, 1;

-- monthly orders
SELECT date_trunc('month', placed_at)::date AS month, count(*) AS count
FROM orders
GROUP BY 1
ORDER BY 1;

-- total number of orders in Q1 2026
SELECT count(*) AS count
FROM orders
WHERE placed_at >= '2026-01-01'
  AND placed_at < '2026-04-01';

-- how many customers signed up this year
SELECT count(*) AS count
FROM customers
WHERE created_at >= date_trunc('year', now())
  AND created_at < date_trunc('year', now()) + interval '1 year';

-- customers with name containing 'smi'
SELECT *
FROM customers
WHERE name ILIKE '%smi%'
ORDER BY id;

-- median order total this year
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS median_total
FROM orders
WHERE placed_at >= date_trunc('year', now())
  AND placed_at < date_trunc('year', now()) + interval '1 year';

-- orders of customer 42 since March 5, 2026
SELECT *
FROM orders
WHERE customer_id = 42
  AND placed_at >= '2026-03-05'
ORDER BY id;

-- products not in category Garden
SELECT *
FROM products
WHERE lower(category) <> lower('Garden')
ORDER BY id;

-- shipments shipped in March 2025
SELECT *
FROM archive.shipments
WHERE shipped_on >= '2025-03-01'
  AND shipped_on < '2025-04-01'
ORDER BY id;

-- heaviest shipments
SELECT *
FROM archive.shipments
ORDER BY weight_kg DESC NULLS LAST, id;

-- shipments with freight charge over 10
SELECT *
FROM archive.shipments
WHERE amt > 10
ORDER BY id;

-- shipments with carrier name DHL
SELECT *
FROM archive.shipments
WHERE lower("Carrier Name") = lower('DHL')
ORDER BY id;

-- top 3 most expensive products in category Garden
SELECT *
FROM products
WHERE lower(category) = lower('Garden')
ORDER BY price DESC, id
LIMIT 3;

-- average price and number of products per category
SELECT category, count(*) AS count, avg(price) AS average_price
FROM products
GROUP BY 1
ORDER BY 2 DESC, 1;

-- orders per customer per month
SELECT customer_id, date_trunc('month', placed_at)::date AS month, count(*) AS count
FROM orders
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2;

-- revenue of order totals
SELECT revenue
FROM order_totals
ORDER BY order_id;

-- what is the total of orders this month?
SELECT sum(total) AS sum_total
FROM orders
WHERE placed_at >= date_trunc('month', now())
  AND placed_at < date_trunc('month', now()) + interval '1 month';

-- show the twenty five newest reviews
SELECT *
FROM reviews
ORDER BY created_at DESC, id
LIMIT 25;

-- first 10 customers
SELECT *
FROM customers
ORDER BY created_at, id
LIMIT 10;

-- show customers named O'Brien
SELECT *
FROM customers
WHERE name ~* '[[:<:]]O''Brien[[:>:]]'
ORDER BY id;

-- show me orders with a total of 10 or more, newest first
SELECT *
FROM orders
WHERE total >= 10
ORDER BY placed_at DESC, id;

-- total of orders this month
SELECT sum(total) AS sum_total
FROM orders
WHERE placed_at >= date_trunc('month', now())
  AND placed_at < date_trunc('month', now()) + interval '1 month';

-- total per month
SELECT date_trunc('month', placed_at)::date AS month, sum(total) AS sum_total
FROM orders
GROUP BY 1
ORDER BY 1;

-- show the totals of orders
SELECT total
FROM orders
ORDER BY id;

-- orders older than 30 days
SELECT *
FROM orders
WHERE placed_at < now() - interval '30 days'
ORDER BY id;

-- orders placed in the last 24 hours
SELECT *
FROM orders
WHERE placed_at >= now() - interval '24 hours'
  AND placed_at < now()
ORDER BY id;

-- orders of 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2026-01-01'
ORDER BY id;

-- show the cheapest product names
SELECT name
FROM products
ORDER BY price, id;

-- how many products per category, highest first
SELECT category, count(*) AS count
FROM products
GROUP BY 1
ORDER BY 2 DESC, 1;

-- orders by customer 42
SELECT *
FROM orders
WHERE customer_id = 42
ORDER BY id;

-- customers not in country Germany
SELECT *
FROM customers
WHERE lower(country) <> lower('Germany')
ORDER BY id;

-- orders newest first
SELECT *
FROM orders
ORDER BY placed_at DESC, id;

-- orders placed before 2025
SELECT *
FROM orders
WHERE placed_at < '2025-01-01'
ORDER BY id;

-- reviews written in 2025
SELECT *
FROM reviews
WHERE created_at >= '2025-01-01'
  AND created_at < '2026-01-01'
ORDER BY id;

-- orders delivered per month
SELECT date_trunc('month', delivered_at)::date AS month, count(*) AS count
FROM orders
WHERE delivered_at IS NOT NULL
GROUP BY 1
ORDER BY 1;

-- order totals with revenue over 10
SELECT *
FROM order_totals
WHERE revenue > 10
ORDER BY order_id;

-- cancelled orders last month
SELECT *
FROM orders
WHERE status = 'cancelled'
  AND placed_at >= date_trunc('month', now()) - interval '1 month'
  AND placed_at < date_trunc('month', now())
ORDER BY id;

-- how many orders are in_transit
SELECT count(*) AS count
FROM orders
WHERE status = 'in_transit';

-- products that are discontinued
SELECT *
FROM products
WHERE discontinued
ORDER BY id;

-- products with names starting with 'A%'
SELECT *
FROM products
WHERE name ILIKE E'A\\%%'
ORDER BY id;

-- orders placed this quarter
SELECT *
FROM orders
WHERE placed_at >= date_trunc('quarter', now())
  AND placed_at < date_trunc('quarter', now()) + interval '3 months'
ORDER BY id;

-- orders placed last quarter
SELECT *
FROM orders
WHERE placed_at >= date_trunc('quarter', now()) - interval '3 months'
  AND placed_at < date_trunc('quarter', now())
ORDER BY id;

-- orders in the past week
SELECT *
FROM orders
WHERE placed_at >= now() - interval '1 week'
  AND placed_at < now()
ORDER BY id;

-- reviews in the past 3 months
SELECT *
FROM reviews
WHERE created_at >= now() - interval '3 months'
  AND created_at < now()
ORDER BY id;

-- orders next week
SELECT *
FROM orders
WHERE placed_at >= date_trunc('week', now()) + interval '1 week'
  AND placed_at < date_trunc('week', now()) + interval '2 weeks'
ORDER BY id;

-- orders on 2025-03-05
SELECT *
FROM orders
WHERE placed_at >= '2025-03-05'
  AND placed_at < '2025-03-06'
ORDER BY id;

-- orders on 5 March 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-03-05'
  AND placed_at < '2025-03-06'
ORDER BY id;

-- orders on March 5th, 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-03-05'
  AND placed_at < '2025-03-06'
ORDER BY id;

-- orders on the 5th of March 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-03-05'
  AND placed_at < '2025-03-06'
ORDER BY id;

-- orders before 2025-02-01
SELECT *
FROM orders
WHERE placed_at < '2025-02-01'
ORDER BY id;

-- orders after 2025-02-01
SELECT *
FROM orders
WHERE placed_at >= '2025-02-02'
ORDER BY id;

-- orders after March 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-04-01'
ORDER BY id;

-- orders from 2025 on
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
ORDER BY id;

-- orders from 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2026-01-01'
ORDER BY id;

-- orders placed in 2025-03
SELECT *
FROM orders
WHERE placed_at >= '2025-03-01'
  AND placed_at < '2025-04-01'
ORDER BY id;

-- orders in December 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-12-01'
  AND placed_at < '2026-01-01'
ORDER BY id;

-- orders with placed_at since 2025-01-01
SELECT *
FROM orders
WHERE placed_at >= '2025-01-01'
ORDER BY id;

-- orders where placed at is before 2025-06-01
SELECT *
FROM orders
WHERE placed_at < '2025-06-01'
ORDER BY id;

-- orders delivered since yesterday
SELECT *
FROM orders
WHERE delivered_at >= date_trunc('day', now()) - interval '1 day'
ORDER BY id;

-- orders in Q4 2025
SELECT *
FROM orders
WHERE placed_at >= '2025-10-01'
  AND placed_at < '2026-01-01'
ORDER BY id;

-- orders during 2024
SELECT *
FROM orders
WHERE placed_at >= '2024-01-01'
  AND placed_at < '2025-01-01'
ORDER BY id;

-- orders between 2023 and 2024
SELECT *
FROM orders
WHERE placed_at >= '2023-01-01'
  AND placed_at < '2025-01-01'
ORDER BY id;

-- orders newer than 2 weeks
SELECT *
FROM orders
WHERE placed_at >= now() - interval '2 weeks'
ORDER BY id;

-- count orders per day this week
SELECT date_trunc('day', placed_at)::date AS day, count(*) AS count
FROM orders
WHERE placed_at >= date_trunc('week', now())
  AND placed_at < date_trunc('week', now()) + interval '1 week'
GROUP BY 1
ORDER BY 1;

-- how many orders per week in 2025
SELECT date_trunc('week', placed_at)::date AS week, count(*) AS count
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2026-01-01'
GROUP BY 1
ORDER BY 1;

-- hourly orders today
SELECT date_trunc('hour', placed_at) AS hour, count(*) AS count
FROM orders
WHERE placed_at >= date_trunc('day', now())
  AND placed_at < date_trunc('day', now()) + interval '1 day'
GROUP BY 1
ORDER BY 1;

-- what is the average rating of reviews this year?
SELECT avg(rating) AS average_rating
FROM reviews
WHERE created_at >= date_trunc('year', now())
  AND created_at < date_trunc('year', now()) + interval '1 year';

-- What's the highest order total ever?
SELECT max(total) AS highest_total
FROM orders;

-- how much is the total of orders in 2025
SELECT sum(total) AS sum_total
FROM orders
WHERE placed_at >= '2025-01-01'
  AND placed_at < '2026-01-01';

-- minimum rating per customer
SELECT customer_id, min(rating) AS lowest_rating
FROM reviews
GROUP BY 1
ORDER BY 2 DESC, 1;

-- how many customers per country and city
SELECT country, city, count(*) AS count
FROM customers
GROUP BY 1, 2
ORDER BY 3 DESC, 1, 2;

-- number of reviews per rating
SELECT rating, count(*) AS count
FROM reviews
GROUP BY 1
ORDER BY 2 DESC, 1;

-- how many active customers per country
SELECT country, count(*) AS count
FROM customers
WHERE is_active
GROUP BY 1
ORDER BY 2 DESC, 1;

-- reviews by rating
SELECT *
FROM reviews
ORDER BY rating, id;

-- top 10 products by weight
SELECT *
FROM products
ORDER BY weight DESC NULLS LAST, id
LIMIT 10;

-- bottom 3 products by price
SELECT *
FROM products
ORDER BY price, id
LIMIT 3;

-- five cheapest products
SELECT *
FROM products
ORDER BY price, id
LIMIT 5;

-- the 3 heaviest products
SELECT *
FROM products
ORDER BY weight DESC NULLS LAST, id
LIMIT 3;

-- most recent review
SELECT *
FROM reviews
WHERE created_at = (SELECT max(created_at) FROM reviews)
ORDER BY id;

-- last 5 reviews with rating 1
SELECT *
FROM reviews
WHERE rating = 1
ORDER BY created_at DESC, id
LIMIT 5;

-- 3 latest orders of customer 9
SELECT *
FROM orders
WHERE customer_id = 9
ORDER BY placed_at DESC, id
LIMIT 3;

-- a dozen products
SELECT *
FROM products
ORDER BY id
LIMIT 12;

-- a hundred customers
SELECT *
FROM customers
ORDER BY id
LIMIT 100;

-- two hundred orders
SELECT *
FROM orders
ORDER BY id
LIMIT 200;

-- show me all products sorted by name
SELECT *
FROM products
ORDER BY name, id;

-- products ordered by price from high to low
SELECT *
FROM products
ORDER BY price DESC, id;

-- products sorted by category ascending
SELECT *
FROM products
ORDER BY category, id;

-- products by weight, descending
SELECT *
FROM products
ORDER BY weight DESC NULLS LAST, id;

-- customers with credit limit between 100 and 500
SELECT *
FROM customers
WHERE credit_limit BETWEEN 100 AND 500
ORDER BY id;

-- customers with a credit limit of 1,000 or more
SELECT *
FROM customers
WHERE credit_limit >= 1000
ORDER BY id;

-- orders with total = 99.90
SELECT *
FROM orders
WHERE total = 99.90
ORDER BY id;

-- orders with total >= 10 and total < 20
SELECT *
FROM orders
WHERE total >= 10
  AND total < 20
ORDER BY id;

-- products where price > 10 and category = 'Garden'
SELECT *
FROM products
WHERE price > 10
  AND category = 'Garden'
ORDER BY id;

-- products with category "Home & Garden"
SELECT *
FROM products
WHERE category = 'Home & Garden'
ORDER BY id;

-- products of category garden
SELECT *
FROM products
WHERE lower(category) = lower('garden')
ORDER BY id;

-- products with name like lamp
SELECT *
FROM products
WHERE name ILIKE '%lamp%'
ORDER BY id;

-- products whose description contains 'solid oak'
SELECT *
FROM products
WHERE description ILIKE '%solid oak%'
ORDER BY id;

-- customers with email 'ada@example.org'
SELECT *
FROM customers
WHERE email = 'ada@example.org'
ORDER BY id;

-- customers with email ada@example.org
SELECT *
FROM customers
WHERE email = 'ada@example.org'
ORDER BY id;

-- customers where name is 'O''Brien'
SELECT *
FROM customers
WHERE name = 'O''Brien'
ORDER BY id;

-- customers named 'Robert''); DROP TABLE customers; --'
SELECT *
FROM customers
WHERE name = 'Robert''); DROP TABLE customers; --'
ORDER BY id;

-- products with weight over 1000
SELECT *
FROM products
WHERE weight > 1000
ORDER BY id;

-- products without a description
SELECT *
FROM products
WHERE (description = '' OR description IS NULL)
ORDER BY id;

-- products with no weight
SELECT *
FROM products
WHERE weight IS NULL
ORDER BY id;

-- customers missing an email
SELECT *
FROM customers
WHERE (email = '' OR email IS NULL)
ORDER BY id;

-- orders with status 'in_transit'
SELECT *
FROM orders
WHERE status = 'in_transit'
ORDER BY id;

-- orders with status pending, paid or shipped
SELECT *
FROM orders
WHERE status IN ('pending', 'paid', 'shipped')
ORDER BY id;

-- orders that are not cancelled
SELECT *
FROM orders
WHERE status <> 'cancelled'
ORDER BY id;

-- orders whose status isn't paid
SELECT *
FROM orders
WHERE status <> 'paid'
ORDER BY id;

-- cancelled orders of customer 3 this year
SELECT *
FROM orders
WHERE status = 'cancelled'
  AND customer_id = 3
  AND placed_at >= date_trunc('year', now())
  AND placed_at < date_trunc('year', now()) + interval '1 year'
ORDER BY id;

-- reviews with 1 star
SELECT *
FROM reviews
WHERE rating = 1
ORDER BY id;

-- 4-star reviews
SELECT *
FROM reviews
WHERE rating = 4
ORDER BY id;

-- reviews rated 5
SELECT *
FROM reviews
WHERE rating = 5
ORDER BY id;

-- products not in category 'Garden'
SELECT *
FROM products
WHERE category <> 'Garden'
ORDER BY id;

-- customers who are inactive
SELECT *
FROM customers
WHERE NOT is_active
ORDER BY id;

-- customers where is_active is false
SELECT *
FROM customers
WHERE NOT is_active
ORDER BY id;

-- customers where active = true
SELECT *
FROM customers
WHERE is_active
ORDER BY id;

-- products tagged with 'summer sale'
SELECT *
FROM products
WHERE 'summer sale' = ANY (tags)
ORDER BY id;

-- products whose tags contain summer
SELECT *
FROM products
WHERE 'summer' = ANY (tags)
ORDER BY id;

-- order lines with quantity more than 5
SELECT *
FROM order_lines
WHERE quantity > 5
ORDER BY order_id, product_id;

-- order_lines of order 17
SELECT *
FROM order_lines
WHERE order_id = 17
ORDER BY order_id, product_id;

-- average unit price of order lines
SELECT avg(unit_price) AS average_unit_price
FROM order_lines;

-- highest unit_price per product of order lines
SELECT product_id, max(unit_price) AS highest_unit_price
FROM order_lines
GROUP BY 1
ORDER BY 2 DESC, 1;

-- customer 42
SELECT *
FROM customers
WHERE id = 42
ORDER BY id;

-- show the email and phone of customer 42
SELECT email, phone
FROM customers
WHERE id = 42
ORDER BY id;

-- product names
SELECT name
FROM products
ORDER BY id;

-- show the title, body and rating of the latest 5 reviews
SELECT title, body, rating
FROM reviews
ORDER BY created_at DESC, id
LIMIT 5;

-- list customers with their email and phone
SELECT email, phone
FROM customers
ORDER BY id;

-- distinct order statuses
SELECT DISTINCT status
FROM orders
ORDER BY status;

-- how many distinct countries of customers
SELECT count(DISTINCT country) AS distinct_country
FROM customers;

-- unique cities of customers in country France
SELECT DISTINCT city
FROM customers
WHERE lower(country) = lower('France')
ORDER BY city;

-- archive.shipments
SELECT *
FROM archive.shipments
ORDER BY id;

-- shipments due in 2025
SELECT *
FROM archive.shipments
WHERE due_date >= '2025-01-01'
  AND due_date < '2026-01-01'
ORDER BY id;

-- heaviest 2 shipments
SELECT *
FROM archive.shipments
ORDER BY weight_kg DESC NULLS LAST, id
LIMIT 2;

-- shipments with from 'Hamburg'
SELECT *
FROM archive.shipments
WHERE "from" = 'Hamburg'
ORDER BY id;

-- total freight charge of shipments
SELECT sum(amt) AS sum_amt
FROM archive.shipments;

-- show carrier name of shipments
SELECT "Carrier Name"
FROM archive.shipments
ORDER BY id;

-- tell me how many customers we have
SELECT count(*) AS count
FROM customers;

-- can you show me the newest customers please?
SELECT *
FROM customers
ORDER BY created_at DESC, id;

-- do we have orders from today?
SELECT *
FROM orders
WHERE placed_at >= date_trunc('day', now())
  AND placed_at < date_trunc('day', now()) + interval '1 day'
ORDER BY id;

-- I'd like to see the oldest reviews
SELECT *
FROM reviews
ORDER BY created_at, id;

-- Show  Orders !!
SELECT *
FROM orders
ORDER BY id;

-- orders, newest first
SELECT *
FROM orders
ORDER BY placed_at DESC, id;

-- orders without status shipped
SELECT *
FROM orders
WHERE status <> 'shipped'
ORDER BY id;

-- products without category Garden
SELECT *
FROM products
WHERE lower(category) <> lower('Garden')
ORDER BY id;

-- reviews on product 7 by customer 5
SELECT *
FROM reviews
WHERE product_id = 7
  AND customer_id = 5
ORDER BY id;

-- list products sorted by category
SELECT *
FROM products
ORDER BY category, id;

-- list customers by name
SELECT *
FROM customers
ORDER BY name, id;

-- is order 17 shipped?
SELECT *
FROM orders
WHERE id = 17
  AND status = 'shipped'
ORDER BY id;

-- status of order 17
SELECT status
FROM orders
WHERE id = 17
ORDER BY id;

-- what is the price of the most expensive product?
SELECT price
FROM products
WHERE price = (SELECT max(price) FROM products)
ORDER BY id;

-- orders with status not pending
SELECT *
FROM orders
WHERE status <> 'pending'
ORDER BY id;

-- max price and min price of products
SELECT max(price) AS highest_price, min(price) AS lowest_price
FROM products;
