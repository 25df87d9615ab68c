/** bcrypt uses no more of a password. */
export const longestPasswordBytes = 72;
