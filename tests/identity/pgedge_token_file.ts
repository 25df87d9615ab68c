/** A token file as pgEdge's server documents and writes it. */
export const pgedgeTokenFile = `# API tokens, as the Go server's documentation lays them out
#
# Every comment here must outlive a write.

tokens:
    # with an expiry
    prod-api-2024-01:
        hash: "a7b3c8d9e1f2a3b4c5d6e7f8a9b0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8"
        annotation: "Production API - Team A"
        created_at: 2025-01-15T08:30:00Z
        expires_at: 2025-12-31T23:59:59Z

    # written by its YAML library: a local zone and nanoseconds
    dev-local:
        hash: 1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f1a2b
        expires_at: null
        annotation: Local development environment
        created_at: 2025-01-10T14:22:00.123456789+01:00

    analytics-service:
        hash: "9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c3b2a1f0e9d8c7b6a5f4e3d2c1b0a9f8e"
        annotation: "Analytics service"
        created_at: 2025-02-01T09:00:00Z
        expires_at: 2025-06-30T23:59:59Z
        connections:
            connections:
                analytics-db:
                    host: analytics.example.com
                    port: 5432 # the usual one
                    password: "encrypted-password-base64-string-here"

# a last word
`;
