/** bcrypt uses only so many bytes of a password. */
export const longestPasswordBytes = 72;
