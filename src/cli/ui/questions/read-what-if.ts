/** Reads the body of `POST /v1/what-if`: suppositions, each with the path of its field. Pure. */
import type { Taint } from '../../../api/node.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import { MAX_SUPPOSITIONS, type NamedSupposition, TAINT_EFFECTS } from '../../../core/what-if/supposition.ts'
import type { ManifestText } from '../../check/input/read-manifests.ts'
import type { Supposition } from '../../what-if/options.ts'
import type { Table } from '../../what-if/table.ts'
import type { BodyProblem } from '../replies.ts'
import { FILES, readFiles, TEXT } from './question-files.ts'

/** Suppositions that hold together, or one table. */
export interface WhatIfQuestion {
  clusterLost?: string[]
  taints?: ({ cluster: string } & Taint)[]
  /** The taints of a cluster with these keys are removed. */
  taintsRemoved?: { cluster: string; key: string }[]
  data?: { source: string; clusters: string[] }[]
  sourcesStale?: string[]
  files?: ManifestText[]
  /** `KIND/NAME`. */
  deleted?: string[]
  /** The namespace of `deleted`, and of manifests without one. Default: `default`. */
  namespace?: string
  each?: Table['each']
}

/** A supposition, and the path of its field in the body. */
export interface PlacedSupposition {
  path: string
  supposition: Supposition
}

/** The suppositions in the order of the command, or the table. */
type Asked =
  | { suppositions: readonly PlacedSupposition[]; each?: never }
  | { each: Table['each']; suppositions?: never }

type Read = (Asked & { problems?: never }) | { problems: BodyProblem[]; suppositions?: never; each?: never }

const MAX_CLUSTERS = 1000

/** A text that an option of the command can have too: it separates the parts of a taint by these characters. */
const TAINT_PART = { ...TEXT, pattern: '^[^=:\\s]+$', errorMessage: 'must have no "=", ":" or space' } as const
/** `KIND/NAME`. */
const TARGET = { type: 'string', minLength: 3, maxLength: 600 } as const

/** Whether a body has the form of a `WhatIfQuestion`. */
export const validateWhatIf = compileSchema(
  {
    type: 'object',
    properties: {
      clusterLost: suppositionList(TEXT),
      taints: suppositionList({
        type: 'object',
        required: ['cluster', 'key', 'effect'],
        properties: {
          cluster: TEXT,
          key: TAINT_PART,
          value: TAINT_PART,
          effect: { type: 'string', enum: TAINT_EFFECTS },
        },
      }),
      taintsRemoved: suppositionList({
        type: 'object',
        required: ['cluster', 'key'],
        properties: { cluster: TEXT, key: TAINT_PART },
      }),
      data: suppositionList({
        type: 'object',
        required: ['source', 'clusters'],
        properties: { source: TEXT, clusters: { type: 'array', minItems: 1, maxItems: MAX_CLUSTERS, items: TEXT } },
      }),
      sourcesStale: suppositionList(TEXT),
      files: FILES,
      deleted: suppositionList(TARGET),
      namespace: TEXT,
      each: { type: 'string', enum: ['cluster', 'source'] },
    },
  },
  'forbidden',
)

function suppositionList(items: object): object {
  return { type: 'array', maxItems: MAX_SUPPOSITIONS, items }
}

/**
 * Reads a question of the right form, or says what is wrong with it.
 *
 * @param command answers a question with too many objects
 */
export function readWhatIf(body: WhatIfQuestion, command: string): Read {
  const { each, files } = body
  const { given, problems } = files ? readFiles(files, command) : {}
  if (problems) return { problems }
  const named = listNamed(body)
  if (named.length > MAX_SUPPOSITIONS)
    return {
      problems: [
        {
          message: `at most ${MAX_SUPPOSITIONS} suppositions hold together; the body has ${named.length}; use ${command}`,
        },
      ],
    }
  const suppositions: PlacedSupposition[] = [
    ...(given
      ? [{ path: 'files', supposition: { kind: 'applied', given, from: 'the files', onlyPolicies: false } as const }]
      : []),
    ...named,
  ]
  if (each)
    return suppositions.length === 0
      ? { each }
      : { problems: [{ path: 'each', message: 'is a question of its own; ask without suppositions' }] }
  return suppositions.length > 0 ? { suppositions } : { problems: [{ message: NOTHING }] }
}

const NOTHING =
  'nothing is supposed; give at least one of clusterLost, taints, taintsRemoved, data, sourcesStale, files and deleted, or each'

function listNamed(body: WhatIfQuestion): PlacedSupposition[] {
  const { clusterLost = [], taints = [], taintsRemoved = [], data = [], sourcesStale = [], deleted = [] } = body
  return [
    ...place('data', data, (moved) => ({ kind: 'dataMoved', ...moved })),
    ...place('sourcesStale', sourcesStale, (source) => ({ kind: 'sourceStale', source })),
    // A taint that is removed and one that is added may have the same key: the effect is another one then.
    ...place('taintsRemoved', taintsRemoved, (removed) => ({ kind: 'untainted', ...removed })),
    ...place('taints', taints, ({ cluster, ...taint }) => ({ kind: 'tainted', cluster, taint })),
    ...place('clusterLost', clusterLost, (cluster) => ({ kind: 'clusterLost', cluster })),
    ...place('deleted', deleted, (object) => ({ kind: 'deleted', object })),
  ]
}

function place<Item>(
  field: keyof WhatIfQuestion,
  items: readonly Item[],
  read: (item: Item) => NamedSupposition,
): PlacedSupposition[] {
  return items.map((item, i) => ({ path: `${field}[${i}]`, supposition: read(item) }))
}
