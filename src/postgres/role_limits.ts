/** In UTF-8, NAMEDATALEN - 1: PostgreSQL cuts off what is longer, as good as everywhere. */
export const longestRoleBytes = 63;
