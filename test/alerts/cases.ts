/** For each alert, series with which it fires alone, and similar series with which no alert fires. */

/** Series in the notation of promtool: the value at each interval. */
type Series = Readonly<Record<string, string>>

interface AlertCase {
  alert: string
  fires: Series
  silent: Series
  /** Other series with which no alert fires. */
  alsoSilent?: Series
  /** Other series with which it fires. */
  alsoFires?: Series
  /** Whether the series have days instead of hours. */
  isLong?: true
}

/** The labels that Prometheus adds. `more` are those of the metric. */
function seriesOf(metric: string, more = ''): string {
  return `${metric}{namespace="lodestone-system",job="lodestone",instance="a"${more && `,${more}`}}`
}

/** A counter that grows by `step` at each interval. */
const growing = (step: number) => `0+${step}x450`
const constant = (value: number) => `${value}+0x450`
/** Appears after `minutes` with the value 1, as a counter does at its first event. */
const appearsAfter = (minutes: number) => `_x${minutes} 1+0x450`

/** A quiet installation: one event at each interval. Nine in a row are bad before the evaluation, after hours and after days. */
const FEW = growing(1)
const FEW_BAD = '0+1x170 170+0x8 171+1x200'
const FEW_BAD_IN_DAYS = '0+1x410 410+0x8 411+1x200'
const TOTAL = growing(1000)
/** For 20 minutes, most are bad. */
const BAD_SPIKE = '0+999.9x160 160184+200x290'
const reviews = (fast: string, total = TOTAL): Series => ({
  [seriesOf('lodestone_review_duration_seconds_bucket', 'size="small",le="0.01"')]: fast,
  [seriesOf('lodestone_review_duration_seconds_count', 'size="small"')]: total,
})
const claims = (early: string, total = TOTAL): Series => ({
  [seriesOf('lodestone_claim_narrowing_seconds_bucket', 'le="5.0"')]: early,
  [seriesOf('lodestone_claim_narrowing_seconds_count')]: total,
})
const holds = (metric: string, reason: string, value: string): Series => ({
  [seriesOf(metric, `reason="${reason}"`)]: value,
})

const certificate = seriesOf('lodestone_certificate_expiry_timestamp_seconds')
const credentials = seriesOf('lodestone_credentials_expiry_timestamp_seconds')
const leader = seriesOf('leader_election_master_status', 'name="lodestone"')
/** The same series of another replica. */
const ofOther = (series: string) => series.replace('instance="a"', 'instance="b"')
const build = seriesOf('lodestone_build_info', 'version="1"')

const DAY = 86_400
/** The evaluation begins at 0, so an expiry is the seconds from then. */
const expiresIn = (seconds: number) => constant(3 * 3600 + seconds)

/** The series of a healthy installation. The series of a case replace those of the same name and labels. */
const HEALTHY: Series = {
  ...reviews(growing(999.5)),
  ...claims(growing(995)),
  ...holds('lodestone_oldest_hold_seconds', 'Unresolved', constant(20)),
  ...holds('lodestone_oldest_hold_seconds', 'ClaimMissing', constant(3000)),
  ...holds('lodestone_holds_overdue', 'Unresolved', constant(0)),
  [build]: constant(1),
  [leader]: constant(1),
  [seriesOf('lodestone_webhooks_seen')]: constant(1),
  [seriesOf('lodestone_registration_kept', 'cause="reverted"')]: constant(0),
  [seriesOf('lodestone_registration_kept', 'cause="otherReplicas"')]: constant(1),
  [certificate]: expiresIn(60 * DAY),
  [credentials]: constant(0),
  [seriesOf('lodestone_watch_age_seconds', 'kind="Pod"')]: constant(40),
  [seriesOf('lodestone_system_healthy', 'system="lake"')]: constant(1),
  [seriesOf('lodestone_requests_shed_total', 'reason="bytes"')]: constant(0),
  [seriesOf('lodestone_moves_delayed_total')]: constant(3),
  [seriesOf('lodestone_mover_failures_total', 'task="download",reason="NotFound"')]: constant(7),
  [seriesOf('lodestone_volume_evictions_total')]: constant(2),
  [seriesOf('lodestone_write_back_conflicts')]: constant(0),
  [seriesOf('lodestone_holds_not_honored_total', 'result="restored"')]: growing(1),
}

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'LodestoneReviewsBurnBudgetFast',
    fires: reviews(BAD_SPIKE),
    silent: reviews(growing(999.2)),
    alsoSilent: reviews(FEW_BAD, FEW),
  },
  {
    alert: 'LodestoneReviewsBurnBudget',
    fires: reviews(growing(998)),
    silent: reviews(growing(999.2)),
    alsoSilent: reviews(FEW_BAD_IN_DAYS, FEW),
    isLong: true,
  },
  {
    alert: 'LodestoneClaimsBurnBudgetFast',
    fires: claims(BAD_SPIKE),
    silent: claims(growing(992)),
    alsoSilent: claims(FEW_BAD, FEW),
  },
  {
    alert: 'LodestoneClaimsBurnBudget',
    fires: claims(growing(980)),
    silent: claims(growing(992)),
    alsoSilent: claims(FEW_BAD_IN_DAYS, FEW),
    isLong: true,
  },
  {
    alert: 'LodestoneAbsent',
    fires: { [build]: '1+0x100' },
    silent: { [build]: '1+0x176' },
    // Another installation is alive.
    alsoFires: { [build]: '1+0x100', [build.replace('lodestone-system', 'other')]: constant(1) },
  },
  {
    alert: 'LodestoneNoLeader',
    fires: { [leader]: '1+0x100 0+0x200' },
    silent: { [leader]: '1+0x178 0+0x200', [ofOther(leader)]: constant(0) },
  },
  {
    alert: 'LodestoneLoopsWait',
    fires: { [seriesOf('lodestone_webhooks_seen')]: constant(0) },
    silent: { [seriesOf('lodestone_webhooks_seen')]: '1+0x174 0+0x200' },
    // Another replica was the leader before, and its loops began.
    alsoFires: {
      [seriesOf('lodestone_webhooks_seen')]: constant(0),
      [ofOther(seriesOf('lodestone_webhooks_seen'))]: constant(1),
      [ofOther(leader)]: constant(0),
    },
    // The webhooks are seen when a replica becomes the leader.
    alsoSilent: { [ofOther(seriesOf('lodestone_webhooks_seen'))]: constant(0), [ofOther(leader)]: constant(0) },
  },
  {
    alert: 'LodestoneReviewsFail',
    fires: { [seriesOf('controller_runtime_webhook_panics_total', 'webhook="pod"')]: appearsAfter(178) },
    silent: { [seriesOf('controller_runtime_webhook_panics_total', 'webhook="pod"')]: appearsAfter(100) },
  },
  {
    alert: 'LodestoneRequestsShed',
    fires: { [seriesOf('lodestone_requests_shed_total', 'reason="bytes"')]: growing(5) },
    silent: { [seriesOf('lodestone_requests_shed_total', 'reason="bytes"')]: '0+0x100 9+0x200' },
  },
  {
    alert: 'LodestoneWrongPlacement',
    fires: { [seriesOf('lodestone_holds_not_honored_total', 'result="scheduled"')]: appearsAfter(175) },
    silent: { [seriesOf('lodestone_decisions_total', 'webhook="resource-binding",result="Narrowed"')]: growing(9) },
  },
  {
    alert: 'LodestoneHoldOverdue',
    fires: holds('lodestone_holds_overdue', 'Unresolved', constant(1)),
    silent: holds('lodestone_holds_overdue', 'Unresolved', '0+0x177 1+0x100'),
  },
  {
    alert: 'LodestoneOldHold',
    fires: holds('lodestone_oldest_hold_seconds', 'Unresolved', constant(4000)),
    silent: holds('lodestone_oldest_hold_seconds', 'ClaimMissing', constant(80_000)),
  },
  {
    alert: 'LodestoneRegistrationFight',
    fires: { [seriesOf('lodestone_registration_kept', 'cause="reverted"')]: constant(1) },
    // After a pause the leader tries again.
    alsoFires: { [seriesOf('lodestone_registration_kept', 'cause="reverted"')]: '1+0x178 0 1+0x200' },
    silent: { [seriesOf('lodestone_registration_kept', 'cause="unnamed"')]: constant(1) },
  },
  {
    alert: 'LodestoneCertificateExpires',
    fires: { [certificate]: expiresIn(3 * DAY) },
    // One of a day that was not renewed.
    alsoFires: { [certificate]: '7200+0x59 10400+0x300' },
    // The first certificate is not made yet.
    silent: { [certificate]: constant(0) },
    // cert-manager renews one of a day after 16 hours.
    alsoSilent: { [certificate]: '72000+0x59 90000+0x300' },
  },
  {
    alert: 'LodestoneCredentialsExpire',
    fires: { [credentials]: expiresIn(3 * DAY) },
    // The kubelet renews the token of a pod every 50 minutes.
    silent: { [credentials]: '3600+0x49 6600+0x49 9600+0x49 12600+0x49' },
  },
  {
    alert: 'LodestoneCredentialsExpired',
    fires: { [credentials]: '9000+0x20 10900+0x300' },
    silent: { [credentials]: '9000+0x20 11700+0x300' },
  },
  {
    alert: 'LodestoneWatchStale',
    fires: { [seriesOf('lodestone_watch_age_seconds', 'kind="Pod"')]: constant(400) },
    silent: { [seriesOf('lodestone_watch_age_seconds', 'kind="Pod"')]: constant(200) },
  },
  {
    alert: 'LodestoneKindUnavailable',
    fires: { [seriesOf('lodestone_kind_unavailable', 'kind="DataSource",reason="NotServed"')]: constant(1) },
    silent: { [seriesOf('lodestone_kind_unavailable', 'kind="DataSource",reason="NotServed"')]: '_x177 1+0x100' },
  },
  {
    alert: 'LodestoneSystemDown',
    fires: { [seriesOf('lodestone_system_healthy', 'system="lake"')]: constant(0) },
    silent: { [seriesOf('lodestone_system_healthy', 'system="lake"')]: '1+0x172 0+0x100' },
  },
  {
    alert: 'LodestoneMovesExhausted',
    fires: { [seriesOf('lodestone_moves_delayed_total')]: growing(4) },
    silent: { [seriesOf('lodestone_moves_delayed_total')]: '0+0x150 0+4x200' },
  },
  {
    alert: 'LodestoneMoversFail',
    fires: { [seriesOf('lodestone_mover_failures_total', 'task="download",reason="NotFound"')]: growing(1) },
    silent: { [seriesOf('lodestone_mover_failures_total', 'task="download",reason="NotFound"')]: '0+0x170 2+0x100' },
  },
  {
    alert: 'LodestoneDiskPressure',
    fires: { [seriesOf('lodestone_mover_failures_total', 'task="download",reason="NoSpace"')]: appearsAfter(150) },
    silent: { [seriesOf('lodestone_mover_failures_total', 'task="download",reason="NoSpace"')]: constant(4) },
  },
  {
    alert: 'LodestoneWriteBackConflict',
    fires: { [seriesOf('lodestone_write_back_conflicts')]: constant(1) },
    silent: { [seriesOf('lodestone_write_back_conflicts')]: '0+0x177 1+0x100' },
  },
]

/** The files of the rules, as absolute paths. */
export interface RuleFiles {
  causes: string
  objectives: string
}

/**
 * Returns files for `promtool test rules`. Each test lists all alerts that fire. The rules of the objectives take most of the time, so the
 * tests of other alerts leave them out.
 */
export function promtoolTests({ causes, objectives }: RuleFiles): object[] {
  const isObjective = ({ alert }: AlertCase) => alert.includes('BurnBudget')
  const hours = { interval: '1m', at: '3h' }
  const days = { interval: '10m', at: '3d' }
  return [
    fileOf(
      ALERT_CASES.filter((one) => !isObjective(one)),
      { ...hours, ruleFiles: [causes] },
    ),
    ...[hours, days].map((time) =>
      fileOf(
        ALERT_CASES.filter((one) => isObjective(one) && (one.isLong ?? false) === (time === days)),
        { ...time, ruleFiles: [causes, objectives] },
      ),
    ),
  ]
}

function fileOf(
  cases: readonly AlertCase[],
  { interval, at, ruleFiles }: { interval: string; at: string; ruleFiles: string[] },
): object {
  const testOf = (name: string, series: Series, firing: readonly string[]) => ({
    name,
    interval,
    input_series: Object.entries({ ...HEALTHY, ...series }).map(([key, values]) => ({ series: key, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: at,
        exp_samples: firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      },
    ],
  })
  return {
    rule_files: ruleFiles,
    evaluation_interval: interval,
    tests: [
      testOf('a healthy installation fires nothing', {}, []),
      ...cases.flatMap(({ alert, fires, alsoFires, silent, alsoSilent }) => [
        testOf(`${alert} fires`, fires, [alert]),
        testOf(`${alert} is silent`, silent, []),
        ...(alsoFires ? [testOf(`${alert} fires too`, alsoFires, [alert])] : []),
        ...(alsoSilent ? [testOf(`${alert} is silent too`, alsoSilent, [])] : []),
      ]),
    ],
  }
}
