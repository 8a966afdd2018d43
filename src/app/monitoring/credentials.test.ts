import { describe, expect, test } from 'vitest'
import { type CredentialsLifetime, credentialsLifetime } from '../../store/cluster/credentials-lifetime.ts'
import { openLogger } from '../../telemetry/logger.ts'
import { openMetrics } from '../../telemetry/metrics.ts'
import { makeAuthority } from '../../tls/renewal.ts'
import { endsSoon, openCredentialsReport } from './credentials.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('credentials end soon', () => {
  test.each<{ name: string; lastsMs: number; leftMs: number; want: boolean }>([
    { name: 'of a year, a week before', lastsMs: 365 * DAY_MS, leftMs: 7 * DAY_MS - 1, want: true },
    { name: 'of a year, not earlier', lastsMs: 365 * DAY_MS, leftMs: 7 * DAY_MS + 1, want: false },
    { name: 'of 30 days, three days before', lastsMs: 30 * DAY_MS, leftMs: 3 * DAY_MS - 1, want: true },
    { name: 'of a pod, which kubelet renews after 80 %', lastsMs: HOUR_MS, leftMs: 0.2 * HOUR_MS, want: false },
    { name: 'of a pod that kubelet does not renew', lastsMs: HOUR_MS, leftMs: 0.05 * HOUR_MS, want: true },
    { name: 'that have ended', lastsMs: DAY_MS, leftMs: -DAY_MS, want: true },
  ])('$name: $want', ({ lastsMs, leftMs, want }) => {
    expect(endsSoon({ beginsAt: 0, endsAt: lastsMs }, lastsMs - leftMs)).toBe(want)
  })
})

test('one log line, readiness and a metric say that the credentials end soon', async () => {
  const lines: { msg: string }[] = []
  const { log } = openLogger({
    level: 'info',
    format: 'json',
    output: { write: (line) => lines.push(JSON.parse(line)) },
  })
  const metrics = openMetrics()
  let lifetime: CredentialsLifetime | undefined = { beginsAt: 0, endsAt: 30 * DAY_MS }
  let now = 0
  const report = openCredentialsReport({ read: async () => lifetime, now: () => now, log, metrics })
  const expiry = async () => (await metrics.credentialsExpiry.get()).values[0]?.value

  await report.check()
  expect({ warnings: report.warnings(), expiry: await expiry() }).toEqual({ warnings: [], expiry: 30 * 86_400 })

  now = 28 * DAY_MS
  await report.check()
  await report.check()
  expect(report.warnings()).toEqual([
    'the credentials for the API server end at 1970-01-31T00:00:00.000Z; renew the kubeconfig with lodestone kubeconfig',
  ])
  expect(lines.map(({ msg }) => msg)).toEqual(['credentials end soon'])

  lifetime = undefined
  await report.check()
  expect({ warnings: report.warnings(), expiry: await expiry() }).toEqual({ warnings: [], expiry: 0 })
})

test('a kubeconfig that is not used causes a warning, and a log line for each reason', async () => {
  const lines: { msg: string; reason?: string }[] = []
  const output = { write: (line: string) => lines.push(JSON.parse(line)) }
  const { log } = openLogger({ level: 'info', format: 'json', output })
  let problem: string | undefined = 'another server'
  const input = { read: async () => undefined, sourceProblem: () => problem, now: () => 0, log, metrics: openMetrics() }
  const report = openCredentialsReport(input)

  await report.check()
  await report.check()
  expect(report.warnings()).toEqual(['another server'])
  problem = undefined
  await report.check()
  expect(report.warnings()).toEqual([])
  expect(lines.map(({ msg, reason }) => ({ msg, reason }))).toEqual([
    { msg: 'the kubeconfig is not used as it is now', reason: 'another server' },
  ])
})

test('credentials that cannot be read cause no warning: the requests report them', async () => {
  const { log } = openLogger({ level: 'silent', format: 'json', output: { write: () => true } })
  const read = async () => {
    throw new Error('no such file')
  }
  const report = openCredentialsReport({ read, now: () => 0, log, metrics: openMetrics() })
  await report.check()
  expect(report.warnings()).toEqual([])
})

test('of a token and a client certificate, the one that ends first counts', async () => {
  const { certPem: certificate } = await makeAuthority(0)
  const ofCertificate = credentialsLifetime({ certificate })?.endsAt ?? 0
  expect(ofCertificate).toBeGreaterThan(30 * DAY_MS)

  const claims = Buffer.from(JSON.stringify({ iat: 0, exp: 86_400 })).toString('base64url')
  expect(credentialsLifetime({ authorization: `Bearer e30.${claims}.c2ln`, certificate })?.endsAt).toBe(DAY_MS)
})
