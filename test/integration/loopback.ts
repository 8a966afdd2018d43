/** How the application listens in tests: on free ports that only this machine reaches, and without a wait at its end. */
export const LOOPBACK = { host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0, drainSeconds: 0 }
