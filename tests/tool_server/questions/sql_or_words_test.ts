import assert from "node:assert/strict";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import {
  isEmptyRequest,
  looksLikeSql,
  mayBeWords,
  type StatementReading,
} from "../../../src/tool_server/questions/sql_or_words.ts";

const guard = await createStatementGuard();

function readAsStatement(sql: string): StatementReading {
  if (guard.check(sql).ok) return "runs";
  return guard.fingerprint(sql) === undefined ? "none" : "refused";
}

const sql = [
  "SELECT 1",
  "select 1;",
  "select * from orders",
  "select * form orders",
  "select id, total form orders where total > 10",
  "select count(* from orders",
  "select name from customers wher id 3",
  "select * from orders where placed_at > 'the last day of my holidays",
  "select id from orders group by",
  "SELECT name orders WHERE LIKE",
  "select 1 +",
  "select o.id fro orders o",
  "select name from customers limit 10 offset offset",
  "(select 1)",
  "((select 1) union select 2",
  "( select * form orders )",
  "-- the newest orders\nselect * form orders",
  "/* for me */ select * form orders",
  "/* a */ -- b\n (select 1",
  "values (1), (2)",
  "values (1, 2",
  "table orders",
  "TABLE orders;",
  "with orders as (select",
  "with recursive t(n) as (select 1",
  "WITH x AS MATERIALIZED (SELECT 1",
  "with a as (select 1) select * from a",
  "explain select * from orders",
  "explain select * form orders",
  "explain analyze select",
  "EXPLAIN (ANALYZE, BUFFERS) SELECT",
  "explain with x as (select",
  "show search_path",
  "show server_version",
  "show work_mem;",
  "SHOW customers",
  "show orders;",
  "show all",
  "show time zone",
  "show transaction isolation level",
  "insert into orders",
  "insert into orders values (1)",
  "insert into orders (id) values (1",
  "update orders set x = 1",
  "update orders se x = 1",
  "update orders set x =",
  "delete from orders where",
  "delete from orders",
  "merge into orders using",
  "drop table x; --",
  "drop table",
  "drop table if exists",
  "create table foo",
  "create or replace function f(",
  "alter table orders add",
  "truncate orders",
  "truncate table",
  "grant select on orders to",
  "copy orders to",
  "copy (select 1",
  "call refresh(",
  "do $$ begin",
  "set search_path = ",
  "begin; select 1",
  "commit",
  "analyze",
  "select 1; drop table orders",
  "vacuum full orders;",
  "VACUUM orders",
  "ANALYZE orders",
  "drop table orders",
  "drop view sales",
  "drop materialized view sales",
  "drop index sales_by_day",
  "drop function f",
  "create schema reports",
  "create database reports",
  "create sequence numbers",
  "create extension vector",
  "create table report as select name from customers",
  "alter table orders rename to old",
  "create user bob password 'x'",
  "insert into orders select id from old_orders",
  "truncate table orders",
  "truncate orders cascade",
  "grant select on orders to bob",
  "revoke all on orders from bob",
  "copy orders to stdout",
  "set timezone to utc",
  "explain analyze delete from orders",
  "select id from orders for update",
  "select name from customers where city is null group",
  "select name from customers where id in (1, 2",
  "select name\0 from customers",
  `select ${"1 + ".repeat(20_000)}1`,
] as const;

const words = [
  "",
  "   ",
  "-- nothing but a comment",
  "((",
  "show the ten most expensive products",
  "show customers",
  "show order lines",
  "Show customers",
  "show order_lines",
  "show me all orders",
  "show all orders of last week",
  "fetch 10 orders",
  "fetch the latest orders",
  "select the best customers for me",
  "select the ten newest orders",
  "Select a random product please",
  "select customers with the most orders from Germany",
  "with which customers do we earn most?",
  "with all orders in mind, what is the average total?",
  "update me on the orders of last week",
  "update on orders",
  "explain the schema to me",
  "explain how orders relate to customers",
  "explain orders to me",
  "insert coin",
  "delete my account",
  "delete from my list the orders that are old",
  "drop the table orders",
  "drop me a line",
  "create a report of all orders",
  "create a table of customers and their totals",
  "table of products by price",
  "tables with more than ten rows",
  "values of status in orders",
  "call the customer with the largest order",
  "do we have orders from today?",
  "set the table for ten",
  "copy that",
  "grant me access please",
  "begin with the newest orders",
  "commit to a plan",
  "merge the two customers",
  "alter ego",
  "truncate the names after ten characters",
  "how many orders were placed last month",
  "list orders from 2025",
  "what does select mean?",
  "orders where total > 100",
  "count(*) of orders",
  "customers; products",
  "¿cuántos pedidos hay?",
  "selected orders",
  "showing customers",
  "Analyze revenue",
  "analyze sales",
  "analyse Umsätze",
  "vacuum cleaners",
  "close deals",
  "release dates",
  "reset passwords",
  "listen carefully",
  "lock orders",
  "create user list",
  "create user list of all customers",
  "create role overview",
  "create group totals by month",
  "create event calendar",
  "create table showing sales by month",
  "drop user stats",
  "grant access to bob",
  "copy orders to excel",
  "set price to high",
  "Select price from highest to lowest",
  "select all orders from 2024 limit 5",
  "select customers where city is Bern",
  "select customers from Berlin with open orders",
  "select orders from Berlin sorted by date",
  "select customers into groups",
  "select the best customers",
  "with love",
  "show tables",
  "show Umsätze",
  "values of our company",
  "table of contents",
  "table des matières",
  "explain revenue",
  "selecciona los mejores clientes",
  "zeige alle Bestellungen aus Berlin",
  "指出最好的客户",
  "NUL\0 x",
  "\ud800 abc",
  "x ".repeat(4_000),
] as const;

for (const text of sql) {
  Deno.test(`looksLikeSql() takes as SQL: ${JSON.stringify(text.slice(0, 80))}`, () => {
    assert.equal(looksLikeSql(text, readAsStatement(text)), true);
  });
}

for (const text of words) {
  Deno.test(`looksLikeSql() takes as words: ${JSON.stringify(text.slice(0, 80))}`, () => {
    assert.equal(looksLikeSql(text, readAsStatement(text)), false);
  });
}

Deno.test("looksLikeSql() takes any length without recursing", () => {
  assert.equal(looksLikeSql("explain ".repeat(200_000), "none"), false);
  assert.equal(looksLikeSql("(".repeat(200_000) + "select 1", "none"), true);
  assert.equal(looksLikeSql("show x" + " ".repeat(200_000) + ";", "runs"), true);
});

Deno.test("isEmptyRequest() tells white space and comments from everything else", () => {
  for (const text of ["", " \n\t", "-- nothing", "/* a */ -- b\n/* c */"]) {
    assert.equal(isEmptyRequest(text), true, text);
  }
  for (const text of ["((", "-- all\nSELECT 1", "/* a */ x", "/* open"]) {
    assert.equal(isEmptyRequest(text), false, text);
  }
  assert.equal(isEmptyRequest("/**/".repeat(20_000) + "x"), false);
});

Deno.test("mayBeWords() takes a SELECT of plain words alone", () => {
  for (
    const text of [
      "select orders from Berlin",
      "Select best orders",
      "select max price",
      "select orders today",
      "select Kunden aus",
      "table contents",
    ]
  ) assert.equal(mayBeWords(text), true, text);
  for (
    const text of [
      "SELECT orders FROM berlin",
      "select orders.id from berlin",
      "select orders from berlin;",
      "select id, total from orders",
      "select count(id) from berlin",
      "explain select orders from berlin",
      "select",
    ]
  ) assert.equal(mayBeWords(text), false, text);
});
