/** A user file as pgEdge's server writes it, with comments that an administrator added; the passwords are beside. */
export const pgedgeUserFile = `# users of staging
#
# Every comment here must outlive a write.

users:
    # the first
    alice:
        username: alice
        password_hash: $2a$04$BIO1BvuHISJxg6EFWCQjk.3Vkbza1CiOYFFSd18ccYjwmHwYdbQv2
        created_at: 2024-10-30T10:15:30.123456789+01:00
        last_login: 2024-11-14T09:30:00Z
        enabled: true
        annotation: Alice Smith - Developer
        failed_attempts: 2
    bob:
        username: bob
        password_hash: $2a$04$BIO1BvuHISJxg6EFWCQjk.3Vkbza1CiOYFFSd18ccYjwmHwYdbQv2
        created_at: 2024-10-15T14:20:00Z
        last_login: null
        enabled: true
        annotation: ""
        failed_attempts: 0

    charlie:
        username: charlie # left in September
        password_hash: $2a$04$BIO1BvuHISJxg6EFWCQjk.3Vkbza1CiOYFFSd18ccYjwmHwYdbQv2
        created_at: 2024-09-01T08:00:00Z
        last_login: 2024-10-10T16:45:00Z
        enabled: false
        annotation: Former emp
        failed_attempts: 0

# a last word
`;

/** Of each of its users. */
export const pgedgePassword = "correct horse battery";
