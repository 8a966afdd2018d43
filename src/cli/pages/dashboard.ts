/** The dashboard of the chart for Grafana: rows of panels, whose queries name metrics of the table only. */
import type { MetricName, MetricOf } from '../../telemetry/metric-table.ts'

type Unit = 'short' | 'ops' | 's' | 'Bps' | 'bool'

interface Panel {
  title: string
  unit: Unit
  /** The legend of each query → the query. */
  queries: Readonly<Record<string, string>>
}

const WINDOW = '$__rate_interval'
/** The variables of the dashboard. */
const SELECTED = 'namespace=~"$namespace",instance=~"$instance"'

/** The selected series of a metric. `more` selects by its own labels. */
function series(name: MetricName | `${MetricOf<'histogram'>}_${'bucket' | 'count'}`, more = ''): string {
  return `${name}{${SELECTED}${more && `,${more}`}}`
}

/** Every replica has the gauges of the caches. */
const largest = (by: string, name: MetricOf<'gauge'>) => `max by (${by}) (${series(name)})`
const rate = (by: string, name: Parameters<typeof series>[0], more?: string) =>
  `sum by (${by}) (rate(${series(name, more)}[${WINDOW}]))`
const quantile = (q: number, by: string, name: MetricOf<'histogram'>, more?: string) =>
  `histogram_quantile(${q}, ${rate(by === '' ? 'le' : `le, ${by}`, `${name}_bucket`, more)})`

const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Admission: [
    {
      title: 'Decisions',
      unit: 'ops',
      queries: { '{{webhook}} {{result}}': rate('webhook, result', 'lodestone_decisions_total') },
    },
    {
      title: 'Review duration up to 64 KiB',
      unit: 's',
      queries: {
        p50: quantile(0.5, '', 'lodestone_review_duration_seconds', 'size="small"'),
        p99: quantile(0.99, '', 'lodestone_review_duration_seconds', 'size="small"'),
        'p99.9': quantile(0.999, '', 'lodestone_review_duration_seconds', 'size="small"'),
      },
    },
    {
      title: '5xx and faults',
      unit: 'ops',
      queries: {
        '{{webhook}} {{code}}': rate('webhook, code', 'controller_runtime_webhook_requests_total', 'code=~"5.."'),
        '{{webhook}} fault': rate('webhook', 'controller_runtime_webhook_panics_total'),
      },
    },
    {
      title: 'Shed requests',
      unit: 'ops',
      queries: { '{{reason}}': rate('reason', 'lodestone_requests_shed_total') },
    },
  ],
  'Claims and holds': [
    { title: 'Claims by phase', unit: 'short', queries: { '{{phase}}': largest('phase', 'lodestone_claims') } },
    {
      title: 'Workloads on hold',
      unit: 'short',
      queries: {
        '{{reason}}': largest('reason', 'lodestone_holds'),
        '{{reason}} overdue': largest('reason', 'lodestone_holds_overdue'),
      },
    },
    {
      title: 'Age of the oldest hold',
      unit: 's',
      queries: { '{{reason}}': largest('reason', 'lodestone_oldest_hold_seconds') },
    },
    {
      title: 'From claim to narrowed',
      unit: 's',
      queries: {
        p50: quantile(0.5, '', 'lodestone_claim_narrowing_seconds'),
        p99: quantile(0.99, '', 'lodestone_claim_narrowing_seconds'),
      },
    },
    {
      title: 'Moves, and holds that were not honored',
      unit: 'ops',
      queries: {
        moves: rate('namespace', 'lodestone_moves_total'),
        'delayed moves': rate('namespace', 'lodestone_moves_delayed_total'),
        'not honored: {{result}}': rate('result', 'lodestone_holds_not_honored_total'),
      },
    },
  ],
  'Data systems': [
    { title: 'Healthy', unit: 'bool', queries: { '{{system}}': largest('system', 'lodestone_system_healthy') } },
    {
      title: 'Age of the oldest confirmed location',
      unit: 's',
      queries: { '{{system}}': largest('system', 'lodestone_source_age_seconds') },
    },
    {
      title: 'Queries',
      unit: 'ops',
      queries: { '{{system}} {{result}}': rate('system, result', 'lodestone_locality_query_seconds_count') },
    },
    {
      title: 'Query duration, p99',
      unit: 's',
      queries: { '{{system}}': quantile(0.99, 'system', 'lodestone_locality_query_seconds') },
    },
  ],
  Dependencies: [
    {
      title: "Calls of Karmada's interpreter",
      unit: 'ops',
      queries: { '{{result}}': rate('result', 'lodestone_decisions_total', 'webhook="dependencies"') },
    },
    {
      title: 'Attached bindings: runs',
      unit: 'ops',
      queries: {
        '{{controller}} {{result}}': rate(
          'controller, result',
          'controller_runtime_reconcile_total',
          'controller=~"attached-binding|dependencies|propagation-policy"',
        ),
      },
    },
  ],
  Volumes: [
    { title: 'Replicas by state', unit: 'short', queries: { '{{state}}': largest('state', 'lodestone_replicas') } },
    {
      title: 'Queue of movers',
      unit: 'short',
      queries: { '{{task}}': largest('task', 'lodestone_mover_queue_length') },
    },
    {
      title: 'Age of the oldest queued work',
      unit: 's',
      queries: { '{{task}}': largest('task', 'lodestone_mover_queue_oldest_seconds') },
    },
    { title: 'Bytes moved', unit: 'Bps', queries: { '{{task}}': rate('task', 'lodestone_mover_bytes_total') } },
    {
      title: 'Mover duration, p90',
      unit: 's',
      queries: { '{{task}}': quantile(0.9, 'task', 'lodestone_mover_duration_seconds') },
    },
    {
      title: 'Failed movers, evictions and conflicts',
      unit: 'short',
      queries: {
        '{{task}}: {{reason}} per second': rate('task, reason', 'lodestone_mover_failures_total'),
        'evictions per second': rate('namespace', 'lodestone_volume_evictions_total'),
        'write-back conflicts': largest('namespace', 'lodestone_write_back_conflicts'),
      },
    },
  ],
  'Leader and registration': [
    {
      title: 'Leader',
      unit: 'bool',
      queries: { '{{instance}}': largest('instance', 'leader_election_master_status') },
    },
    {
      title: 'Registration kept',
      unit: 'bool',
      queries: {
        '{{cause}}': largest('cause', 'lodestone_registration_kept'),
        'webhooks seen': largest('namespace', 'lodestone_webhooks_seen'),
      },
    },
    {
      title: 'Certificate and credentials end in',
      unit: 's',
      queries: {
        certificate: `min(${series('lodestone_certificate_expiry_timestamp_seconds')} > 0) - time()`,
        credentials: `min(${series('lodestone_credentials_expiry_timestamp_seconds')} > 0) - time()`,
      },
    },
  ],
  'API server and loops': [
    {
      title: 'Requests to API servers',
      unit: 'ops',
      queries: { '{{method}} {{code}}': rate('method, code', 'rest_client_requests_total') },
    },
    {
      title: 'Age of watches',
      unit: 's',
      queries: { '{{instance}} {{kind}}': largest('instance, kind', 'lodestone_watch_age_seconds') },
    },
    { title: 'Queue depth', unit: 'short', queries: { '{{name}}': largest('name', 'workqueue_depth') } },
    {
      title: 'Age of the oldest key',
      unit: 's',
      queries: { '{{name}}': largest('name', 'lodestone_queue_oldest_seconds') },
    },
    {
      title: 'Queue adds and retries',
      unit: 'ops',
      queries: {
        '{{name}} adds': rate('name', 'workqueue_adds_total'),
        '{{name}} retries': rate('name', 'workqueue_retries_total'),
      },
    },
  ],
}

const WIDTH = 8
const HEIGHT = 7

/** Returns the JSON model of the dashboard. */
export function dashboard(): object {
  const panels: object[] = []
  let y = 0
  const add = (panel: object, gridPos: { x: number; w: number; h: number }) =>
    panels.push({ id: panels.length + 1, ...panel, gridPos: { y, ...gridPos } })
  for (const [title, row] of Object.entries(ROWS)) {
    add({ type: 'row', title, collapsed: false, panels: [] }, { x: 0, w: 24, h: 1 })
    y += 1
    row.forEach((panel, i) => {
      add(panelModel(panel), { x: (i % 3) * WIDTH, w: WIDTH, h: HEIGHT })
      if (i % 3 === 2 || i === row.length - 1) y += HEIGHT
    })
  }
  return {
    title: 'Lodestone',
    uid: 'lodestone',
    schemaVersion: 39,
    version: 2,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    tags: ['lodestone'],
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        variable('namespace', `label_values(lodestone_build_info, namespace)`),
        variable('instance', `label_values(lodestone_build_info{namespace=~"$namespace"}, instance)`),
      ],
    },
    panels,
  }
}

const DATASOURCE = { type: 'prometheus', uid: '$datasource' }

function panelModel({ title, unit, queries }: Panel): object {
  return {
    title,
    type: 'timeseries',
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], i) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + i),
      expr,
      legendFormat,
    })),
  }
}

/** A variable with the values of a label. */
function variable(name: string, query: string): object {
  return {
    name,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    includeAll: true,
    allValue: '.*',
    multi: true,
    current: { text: 'All', value: '$__all' },
  }
}
