/** The registration in the API server. Its loop writes this state; readiness and the rotation of the CA read it. */
import type { Config } from './config/config.ts'

export interface RegistrationState {
  /** Whether the API server can call the webhooks with the present CA, or another tool registers them. */
  isRegistered(): boolean
  /** Whether all registrations have this CA bundle; undefined if another tool registers. */
  isPublished(caBundlePem: string): boolean | undefined
  /** Why the registration of another version or configuration is kept; undefined if it is as wanted. */
  kept(): string | undefined
  /** Called when the admission webhooks are registered with the present CA bundle; the interpreter may still be missing. */
  registered(): void
  /** Called when all registrations have this CA bundle. */
  published(caBundlePem: string | undefined): void
  /** Called after each check of the registration. */
  keep(reason: string | undefined): void
}

export function openRegistrationState({ registration }: Config): RegistrationState {
  const isOurs = registration.mode !== 'none'
  let isRegistered = !isOurs
  let bundle: string | undefined
  let kept: string | undefined
  return {
    isRegistered: () => isRegistered,
    isPublished: (caBundlePem) => (isOurs ? bundle === caBundlePem : undefined),
    kept: () => kept,
    registered() {
      isRegistered = true
    },
    published(caBundlePem) {
      bundle = caBundlePem
    },
    keep(reason) {
      kept = reason
    },
  }
}
