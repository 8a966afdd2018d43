/** The page docs/reference/metrics.md: every metric of the table, and the values of their labels. */
import { MEASURED_TASKS } from '../../core/volume-manager/mover/measured-mover.ts'
import { REPLICA_STATES } from '../../core/volume-manager/status/totals.ts'
import { METRICS, type MetricDefinition } from '../../telemetry/metric-table.ts'
import { codes, GENERATED, markdownTable } from './markdown.ts'

/** Returns the text of docs/reference/metrics.md. */
export function metricsPage(): string {
  const rows = Object.entries(METRICS).map(([name, metric]: [string, MetricDefinition]) => [
    `\`${name}\``,
    codes(metric.labels ?? []),
    `${metric.type === 'histogram' ? 'histogram: ' : ''}${metric.help}${metric.remark === undefined ? '' : `: ${metric.remark}`}`,
  ])
  return `# Metrics

${GENERATED}

Scrape \`http://HOST:8080/metrics\` with Prometheus. [charts/lodestone](../../charts/lodestone) has a dashboard,
and [alerts](../guides/alerts.md).

Every replica serves the gauges of claims, holds and volumes from its own cache: use \`max\`, not \`sum\`. Only the leader counts the work of
loops and movers. Names that end with \`_total\` are counters; the table names the histograms; all others are gauges. The metrics of Node's
process (\`process_…\`, \`nodejs_…\`) are included.

${markdownTable(['Metric', 'Labels', 'Meaning'], rows)}

## Values of labels

No label has the name of an object, a namespace or a user.

${markdownTable(
  ['`webhook`', '`result` of `lodestone_decisions_total`'],
  [
    ['bindings', codes(['Narrowed', 'OnHold', 'Kept', 'Relaxed', 'Released', 'Ignored', 'Restored', 'Widened'])],
    ['policies', codes(['Propagated', 'Declined', 'Accepted'])],
    ["`dependencies`: calls of Karmada's resource interpreter", codes(['interpreted', 'refused'])],
    ['`unknown-path`: paths that only another version has', codes(['NotReviewed'])],
    ['all others', codes(['allowed', 'denied'])],
  ],
)}

${markdownTable(
  ['Label', 'Values'],
  [
    ['`task`', codes(MEASURED_TASKS)],
    ['`state`', codes(REPLICA_STATES)],
    [
      '`reason` of `lodestone_mover_failures_total`',
      'codes of [movers](../guides/movers.md#results), VolumeManagers and the kubelet; `Other` for any other code',
    ],
  ],
)}

${markdownTable(
  ['`controller`, `name`', 'Loop'],
  [
    ['`data-source-claim`, `data-source`', 'status of claims; queries to data systems'],
    ['`resource-binding`', 'narrows bindings'],
    ['`propagation-policy`', 'sets and removes `propagateDeps`'],
    ['`attached-binding`, `dependencies`', 'attaches dependencies; keeps a deleted binding until they are detached'],
    ['`admission-check`, `kueue-workload`', 'answers AdmissionChecks of Kueue'],
    ['`multikueue-dispatcher`', 'nominates worker clusters of MultiKueue'],
    ['`pod`, `daemon-set`', 'removes scheduling gates; narrows DaemonSets'],
    ['`volume-manager`, `volume-eviction`', 'replicas on nodes, and their eviction'],
    ['`volume-leftover`', 'data of VolumeManagers that ended before it'],
  ],
)}
`
}
