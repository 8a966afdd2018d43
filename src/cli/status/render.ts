/** Renders the report of `lodestone status` as tables; `wide` has more columns. */
import { objectKey, referenceTitle } from '../../api/meta.ts'
import { listNames } from '../../base/names.ts'
import { formatSize } from '../../base/quantity.ts'
import { formatAge } from '../../base/time/duration.ts'
import type { Paint } from '../command.ts'
import { formatColumns } from '../format.ts'
import { SECTIONS } from './gather.ts'
import type {
  ClaimReport,
  HoldReport,
  Section,
  SourceReport,
  StatusReport,
  SystemReport,
  VolumeReport,
} from './report.ts'

type Cells = Record<string, string>

/** The cells of a row by column, and the columns that only `wide` has. */
interface Table<Row> {
  wide: readonly string[]
  cells: (row: Row, now: number) => Cells
  columns: readonly string[]
}

const TABLES: { [section in Section]: Table<NonNullable<StatusReport[section]>[number]> } = {
  claims: {
    columns: ['CLAIM', 'PHASE', 'DATA', 'WORKLOAD', 'TYPE', 'ENFORCEMENT', 'SOURCE', 'LOCATION'],
    wide: ['TYPE', 'ENFORCEMENT', 'SOURCE'],
    cells: (claim: ClaimReport) => ({
      CLAIM: objectKey(claim.namespace, claim.name),
      PHASE: claim.phase,
      DATA: `${claim.system} ${claim.dataSourceName}`,
      WORKLOAD: `${claim.workload.kind}/${claim.workload.name}`,
      TYPE: claim.dataSourceType,
      ENFORCEMENT: claim.enforcement,
      SOURCE: claim.source ?? '',
      LOCATION:
        claim.location === 'Located' ? listNames(claim.clusters) : `${LOCATIONS[claim.location]}: ${claim.message}`,
    }),
  },
  holds: {
    columns: ['WORKLOAD', 'SINCE', 'REASON', 'BINDING', 'DECISION ID', 'MESSAGE'],
    wide: ['REASON', 'BINDING', 'DECISION ID'],
    cells: ({ workload, since, reason, binding, decisionId, message }: HoldReport, now) => ({
      WORKLOAD: referenceTitle(workload),
      SINCE: since === undefined ? '-' : formatAge(now - Date.parse(since)),
      REASON: reason,
      BINDING: binding ?? '-',
      'DECISION ID': decisionId ?? '-',
      MESSAGE: message,
    }),
  },
  volumes: {
    columns: ['VOLUMEMANAGER', 'VOLUME', 'STATE', 'REPLICAS', 'SIZE', 'NODES', 'SOURCE', 'REASON', 'MESSAGE'],
    wide: ['SOURCE', 'REASON'],
    cells: (volume: VolumeReport) => ({
      VOLUMEMANAGER: objectKey(volume.namespace, volume.volumeManager),
      VOLUME: volume.volume,
      STATE: volume.state,
      REPLICAS: `${volume.readyReplicas}/${volume.replicas}`,
      SIZE: volume.bytes === undefined ? '' : formatSize(volume.bytes),
      NODES: listNames(volume.nodes, NODES_SHOWN),
      SOURCE: volume.sourceType,
      REASON: volume.reason ?? '',
      MESSAGE: volume.message ?? '',
    }),
  },
  sources: {
    columns: ['SOURCE', 'PHASE', 'CLUSTERS', 'BYTES', 'CONFIRMED', 'SYSTEM', 'TYPE', 'DATA', 'LOCATION', 'PROBLEM'],
    wide: ['SYSTEM', 'TYPE', 'DATA', 'LOCATION'],
    cells: (source: SourceReport, now) => ({
      SOURCE: source.name,
      PHASE: source.phase,
      CLUSTERS: listNames(source.clusters ?? []),
      BYTES: source.bytes === undefined ? '' : formatSize(source.bytes, source.bytesAreMinimum),
      CONFIRMED: source.lastResolvedTime === undefined ? 'never' : `${age(source.lastResolvedTime, now)} ago`,
      SYSTEM: source.system,
      TYPE: source.type,
      DATA: source.dataName,
      LOCATION: source.location ?? '',
      PROBLEM: source.lastError ?? '',
    }),
  },
  systems: {
    columns: ['SYSTEM', 'SOURCES', 'STALE', 'HEALTH'],
    wide: [],
    cells: (system: SystemReport, now) => ({
      SYSTEM: system.name,
      SOURCES: String(system.sources),
      STALE: String(system.staleSources),
      HEALTH: `${healthText(system, now)}${firstWarning(system)}`,
    }),
  },
}

/** `wide` and JSON name the others. */
const NODES_SHOWN = 3

const LOCATIONS = { Nowhere: 'nowhere', Unknown: 'unknown', NotPermitted: 'not permitted' } as const

/** Renders the lists of a report. `now` in ms since the epoch. */
export function renderStatus(
  report: StatusReport,
  { now, isWide, paint }: { now: number; isWide: boolean; paint: Paint },
): string {
  return SECTIONS.flatMap((section) => {
    const rows = report[section]
    if (!rows) return []
    const title = `${paint('bold', `${section.toUpperCase()} (${rows.length})`)}\n`
    const { columns, wide, cells } = TABLES[section] as Table<unknown>
    const shown = columns.filter((column) => isWide || !wide.includes(column))
    const lines = rows.map((row) => {
      const byColumn = cells(row, now)
      return shown.map((column) => byColumn[column] ?? '')
    })
    return [lines.length === 0 ? title : `${title}${formatColumns([shown, ...lines])}`]
  }).join('\n')
}

function healthText({ health, message, since }: SystemReport, now: number): string {
  switch (health) {
    case 'Healthy':
      return 'healthy'
    case 'Unhealthy':
      return `unhealthy for ${age(since ?? '', now)}: ${message}`
    case 'NeverQueried':
      return 'never queried'
    case 'NotConfigured':
      return 'not configured'
    case 'InvalidConfiguration':
      return `invalid configuration: ${message}`
  }
}

/** The first warning. `-o json` has all. */
function firstWarning({ warnings: [first, ...others] = [] }: SystemReport): string {
  if (first === undefined) return ''
  return `; warning: ${first}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
}

function age(time: string, now: number): string {
  return formatAge(now - Date.parse(time))
}
