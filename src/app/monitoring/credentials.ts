/** Reports when the credentials for the API server end, which no part of Lodestone can renew, and a kubeconfig that is not used. */
import type { CredentialsLifetime } from '../../store/cluster/credentials-lifetime.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

export interface CredentialsReportInput {
  /** Returns undefined for credentials that do not end, or that a plugin renews. */
  read: () => Promise<CredentialsLifetime | undefined>
  /** Returns why the kubeconfig is not used as it is now; undefined if it is. */
  sourceProblem?: (() => string | undefined) | undefined
  /** Milliseconds since the epoch. */
  now: () => number
  log: Logger
  metrics: Pick<Metrics, 'credentialsExpiry'>
}

export interface CredentialsReport {
  /** Reads the credentials again. Never rejects. */
  check(): Promise<void>
  /** Returns that they end soon, and that the kubeconfig is not used; empty if neither is so. */
  warnings(): string[]
}

const DAY_MS = 86_400_000
/** A warning comes so long before the end, or at the last tenth of a shorter lifetime. kubelet renews a token of a pod earlier. */
const WARNING_MS = 7 * DAY_MS
const WARNING_SHARE = 0.1

export function openCredentialsReport({
  read,
  sourceProblem = () => undefined,
  now,
  log,
  metrics,
}: CredentialsReportInput): CredentialsReport {
  let lifetime: CredentialsLifetime | undefined
  let logged: number | undefined
  let loggedProblem: string | undefined
  function warning(): string | undefined {
    return lifetime && endsSoon(lifetime, now()) ? `${endMessage(lifetime)}; ${RENEW_CREDENTIALS}` : undefined
  }
  return {
    warnings: () => [warning(), sourceProblem()].flatMap((one) => one ?? []),
    async check() {
      // A failure is reported by the request that needs the credentials.
      lifetime = await read().catch(() => undefined)
      metrics.credentialsExpiry.set(lifetime ? lifetime.endsAt / 1000 : 0)
      const reason = warning()
      if (reason !== undefined && lifetime?.endsAt !== logged) log.warn({ reason }, 'credentials end soon')
      logged = reason === undefined ? undefined : lifetime?.endsAt
      const problem = sourceProblem()
      if (problem !== undefined && problem !== loggedProblem)
        log.warn({ reason: problem }, 'the kubeconfig is not used as it is now')
      loggedProblem = problem
    },
  }
}

/** Whether credentials end soon, or ended. */
export function endsSoon({ beginsAt, endsAt }: CredentialsLifetime, now: number): boolean {
  return endsAt - now < Math.min(WARNING_MS, WARNING_SHARE * (endsAt - beginsAt))
}

/** Returns when they end, for users. */
export function endMessage({ endsAt }: CredentialsLifetime): string {
  return `the credentials for the API server end at ${new Date(endsAt).toISOString()}`
}

export const RENEW_CREDENTIALS = 'renew the kubeconfig with lodestone kubeconfig'
