/** Answers `POST /v1/what-if`: what happens to workloads under suppositions, as `lodestone what-if` does. It writes nothing. */
import { type DataSourceClaim, dataSourceClaims } from '../../../api/data-source-claim.ts'
import { isPolicy } from '../../../api/karmada.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { UserError } from '../../../base/user-error.ts'
import type { WorkloadKinds } from '../../../core/workload-kinds/kinds.ts'
import type { Answer } from '../../../queries/what-if/ask.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { DEFAULT_NAMESPACE } from '../../options/namespace.ts'
import { reviewSettings } from '../../review-settings.ts'
import { type FleetSource, openLiveFleet } from '../../what-if/open-fleet.ts'
import { addSupposition } from '../../what-if/suppose.ts'
import { emptySupposition, SuppositionError } from '../../what-if/supposed.ts'
import { type Table, tabulate } from '../../what-if/table.ts'
import type { BodyProblem } from '../replies.ts'
import type { FleetInput } from './check.ts'
import { type Asker, answerBodies } from './one-at-a-time.ts'
import { type PlacedSupposition, readWhatIf, validateWhatIf, type WhatIfQuestion } from './read-what-if.ts'

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

/** The answer or the table, or what is wrong with the body. */
export type WhatIfResult =
  | { answer: WhatIfAnswer; table?: never; problems?: never }
  | { table: WhatIfTable; answer?: never; problems?: never }
  | { problems: BodyProblem[]; answer?: never; table?: never }

const MAX_CHANGES = 200
const MAX_ROWS = 1000
const COMMAND = 'lodestone what-if'

/**
 * Returns a function that answers a body, or says what is wrong with it. Each question reads the fleet as it is then, one question at a time. The
 * function throws if too many wait, and if an answer takes too long. It also throws if the user may not read what a decision needs.
 */
export function openWhatIf(input: FleetInput): (body: unknown, asker: Asker) => Promise<WhatIfResult> {
  const questions = { what: 'question', command: COMMAND, ended: input.signal } as const
  return answerBodies(validateWhatIf, questions, (body: WhatIfQuestion, signal) => answerBody(body, input, signal))
}

async function answerBody(body: WhatIfQuestion, input: FleetInput, signal: AbortSignal): Promise<WhatIfResult> {
  const { suppositions, each, problems } = readWhatIf(body, COMMAND)
  if (problems) return { problems }
  const { store, isHub, config, now, karmadaRules } = input.context()
  const { folder } = input
  if (!folder && !isHub)
    return { problems: [{ message: 'the cluster is no hub, so it has no placements; ask the page of a hub' }] }
  const namespace = body.namespace ?? DEFAULT_NAMESPACE
  const settings = reviewSettings(config, karmadaRules, now)
  const asked = await openLiveFleet({ store, folder }, settings, { namespace, signal })
  const limits = folder ? [] : limitsOfPage(store, settings.workloads)
  const source = { ...asked, notes: [...asked.notes, ...limits] }
  if (each) return { table: await answerTable(each, source) }
  return answerSuppositions(suppositions, source, { ...body, hasWorkloads: folder !== undefined })
}

/** What an answer lacks, since the page of a hub does not cache workloads. */
function limitsOfPage(store: ObjectStore, kinds: WorkloadKinds): string[] {
  const mayHaveTemplates = ({ spec: { workload } }: DataSourceClaim) =>
    kinds.find(workload.apiVersion, workload.kind)?.claimTemplates !== undefined
  const hasTemplates = [...store.list(dataSourceClaims)].some(mayHaveTemplates)
  return [...(store.size(volumeManagers) > 0 ? [NO_VOLUMES] : []), ...(hasTemplates ? [NO_TEMPLATES] : [])]
}

const NO_TEMPLATES =
  'the page does not cache workloads, so it does not know which ones stay with PersistentVolumeClaims of their templates; lodestone what-if knows'
const NO_VOLUMES =
  'the page does not cache workloads, so the data of VolumeManagers that their pods name does not count; lodestone what-if counts it'
const NOT_SELECTED =
  'the page does not cache workloads, so those that another policy selects from now on do not count; lodestone what-if counts them'

async function answerTable(each: Table['each'], { fleet, context, notes }: FleetSource): Promise<WhatIfTable> {
  const table = await tabulate(each, fleet, context)
  const [rows, more] = limited(table.rows, MAX_ROWS)
  return { ...table, rows, more, notes }
}

async function answerSuppositions(
  suppositions: readonly PlacedSupposition[],
  { fleet, context, notes }: FleetSource,
  { files = [], hasWorkloads }: WhatIfQuestion & { hasWorkloads: boolean },
): Promise<WhatIfResult> {
  const supposed = emptySupposition(context)
  for (const { path, supposition } of suppositions) {
    try {
      await addSupposition(supposition, supposed, context)
    } catch (error) {
      // A name that does not exist, or a manifest that admission would reject.
      if (!(error instanceof UserError)) throw error
      const at = error instanceof SuppositionError ? files.findIndex(({ file }) => file === error.file) : -1
      return { problems: [{ path: at < 0 ? path : `files[${at}]`, message: error.message }] }
    }
  }
  const answer = await fleet.ask(supposed, { signal: context.signal, transfers: true })
  const [changes, more] = limited(answer.changes, MAX_CHANGES)
  const sentences = [...supposed.sentences]
  const limits = !hasWorkloads && supposed.changes.some(({ type }) => isPolicy(type.kind)) ? [NOT_SELECTED] : []
  return { answer: { ...answer, changes, more, sentences, notes: [...notes, ...limits, ...supposed.notes] } }
}

function limited<Item>(items: readonly Item[], most: number): [Item[], more: number] {
  return [items.slice(0, most), Math.max(0, items.length - most)]
}
