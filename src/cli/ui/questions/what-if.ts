/** Answers `POST /v1/what-if`: what happens to workloads under suppositions, as `lodestone what-if` does. It writes nothing. */
import type { Taint } from '../../../api/node.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { placementTiming } from '../../../app/config/placement-config.ts'
import { configuredTransferMatrix } from '../../../app/config/transfer-costs-config.ts'
import { compileSchema } from '../../../base/schema/schema-errors.ts'
import { UserError } from '../../../base/user-error.ts'
import type { Answer } from '../../../queries/what-if/ask.ts'
import type { ManifestText } from '../../check/input/read-manifests.ts'
import { type FleetSource, openLiveFleet } from '../../what-if/open-fleet.ts'
import type { Question, Supposition } from '../../what-if/options.ts'
import { suppose } from '../../what-if/suppose.ts'
import { type Table, tabulate } from '../../what-if/table.ts'
import type { FleetInput } from './check.ts'
import { answerBodies } from './one-at-a-time.ts'
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

interface Described {
  /** Limits of the answer, as sentences without a full stop. */
  notes: string[]
  /** The number of further changes or rows. */
  more: number
}

export interface WhatIfAnswer extends Answer, Described {
  /** The suppositions, as sentences without a full stop. */
  sentences: string[]
}

export interface WhatIfTable extends Table, Described {}

/** The answer or the table, or sentences about what is wrong with the body. */
export type WhatIfResult =
  | { answer: WhatIfAnswer; table?: never; problems?: never }
  | { table: WhatIfTable; answer?: never; problems?: never }
  | { problems: string[]; answer?: never; table?: never }

/** Besides manifests, which have a limit of their own. */
const MAX_SUPPOSITIONS = 20
const MAX_CLUSTERS = 1000
const MAX_CHANGES = 200
const MAX_ROWS = 1000
const COMMAND = 'lodestone what-if'
const DEFAULT_NAMESPACE = 'default'

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const satisfies Taint['effect'][]
/** `KIND/NAME`. */
const TARGET = { type: 'string', minLength: 3, maxLength: 600 } as const

const validate = compileSchema(
  {
    type: 'object',
    properties: {
      clusterLost: suppositionList(TEXT),
      taints: suppositionList({
        type: 'object',
        required: ['cluster', 'key', 'effect'],
        properties: { cluster: TEXT, key: TEXT, value: TEXT, effect: { type: 'string', enum: EFFECTS } },
      }),
      taintsRemoved: suppositionList({
        type: 'object',
        required: ['cluster', 'key'],
        properties: { cluster: TEXT, key: TEXT },
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
 * Returns a function that answers a body, or says what is wrong with it. Each question reads the fleet as it is then, one question at a time. The
 * function throws if too many wait, and if an answer takes too long. It also throws if the user may not read what a decision needs.
 */
export function openWhatIf(input: FleetInput): (body: unknown) => Promise<WhatIfResult> {
  const questions = { what: 'question', command: COMMAND, ended: input.signal } as const
  return answerBodies(validate, questions, (body: WhatIfQuestion, signal) => answerBody(body, input, signal))
}

async function answerBody(body: WhatIfQuestion, input: FleetInput, signal: AbortSignal): Promise<WhatIfResult> {
  const { question, problems } = readBody(body)
  if (problems) return { problems }
  const { store, isHub, config, kinds, now, karmadaRules, scope } = input.context()
  const { folder } = input
  if (!folder && !isHub) return { problems: ['the cluster is no hub, so it has no placements; ask the page of a hub'] }
  const namespace = body.namespace ?? DEFAULT_NAMESPACE
  const matrix = configuredTransferMatrix(config)
  const settings = { now, scope, timing: placementTiming(config.placement), kinds, karmadaRules, matrix }
  const asked = await openLiveFleet({ store, folder }, settings, { config, namespace, signal })
  const limits = !folder && store.size(volumeManagers) > 0 ? [NO_WORKLOADS] : []
  try {
    return await answerQuestion(question, { ...asked, notes: [...asked.notes, ...limits] })
  } catch (error) {
    // A name that does not exist, or a manifest that admission would reject.
    if (error instanceof UserError) return { problems: [error.message] }
    throw error
  }
}

const NO_WORKLOADS =
  'the page does not cache workloads, so the data of VolumeManagers that their pods name does not count; lodestone what-if counts it'

async function answerQuestion(question: Question, { fleet, context, notes }: FleetSource): Promise<WhatIfResult> {
  if (question.each) {
    const table = await tabulate(question.each, fleet, context)
    const [rows, more] = limited(table.rows, MAX_ROWS)
    return { table: { ...table, rows, more, notes } }
  }
  const supposed = await suppose(question.suppositions, context)
  const answer = await fleet.ask(supposed.store, supposed.changes, { signal: context.signal, transfers: true })
  const [changes, more] = limited(answer.changes, MAX_CHANGES)
  const { sentences } = supposed
  return { answer: { ...answer, changes, more, sentences, notes: [...notes, ...supposed.notes] } }
}

function limited<Item>(items: readonly Item[], most: number): [Item[], more: number] {
  return [items.slice(0, most), Math.max(0, items.length - most)]
}

type Read = { question: Question; problems?: never } | { question?: never; problems: string[] }

function readBody(body: WhatIfQuestion): Read {
  const { each, files } = body
  const { given, problems } = files ? readFiles(files, COMMAND) : {}
  if (problems) return { problems }
  const others = listSuppositions(body)
  if (others.length > MAX_SUPPOSITIONS)
    return { problems: [`at most ${MAX_SUPPOSITIONS} suppositions hold together; the body has ${others.length}`] }
  const suppositions: Supposition[] = [...(given ? [{ kind: 'appliedTexts', given } as const] : []), ...others]
  if (each)
    return suppositions.length === 0
      ? { question: { each } }
      : { problems: ['each: is a question of its own; ask without suppositions'] }
  return suppositions.length > 0
    ? { question: { suppositions } }
    : {
        problems: [
          'nothing is supposed; give at least one of clusterLost, taints, taintsRemoved, data, sourcesStale, files and deleted, or each',
        ],
      }
}

/** Those besides manifests, in the order of the command. */
function listSuppositions(body: WhatIfQuestion): Supposition[] {
  const { clusterLost = [], taints = [], taintsRemoved = [], data = [], sourcesStale = [], deleted = [] } = body
  return [
    ...data.map(({ source, clusters }) => ({ kind: 'dataMoved', source, clusters }) as const),
    ...sourcesStale.map((source) => ({ kind: 'sourceStale', source }) as const),
    ...taints.map(({ cluster, ...taint }) => ({ kind: 'tainted', cluster, taint }) as const),
    ...taintsRemoved.map(({ cluster, key }) => ({ kind: 'untainted', cluster, key }) as const),
    ...clusterLost.map((cluster) => ({ kind: 'clusterLost', cluster }) as const),
    ...deleted.map((object) => ({ kind: 'deleted', object }) as const),
  ]
}
