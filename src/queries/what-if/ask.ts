/** Answers a question: what becomes of each workload under a supposition, compared with what becomes of it anyway. */
import { keyOfObject } from '../../api/meta.ts'
import { EFFECT_NAMES, type Effect } from '../../core/what-if/effect.ts'
import type { ObjectStore } from '../../store/store.ts'
import { type BindingIndex, indexBindings } from './binding-index.ts'
import { rememberOutcomes } from './present.ts'
import { type TransferTotal, withTransfers } from './transfer.ts'
import { findChanges, type Run, type WorkloadChange } from './workload-change.ts'
import { openWorld, placedBindings, type Question, supposeWorld, type World, type WorldSettings } from './world.ts'

export interface EffectTotal {
  workloads: number
  /** The size of their data, as far as it is known. Data that several workloads use counts once. */
  bytes: number
  dependencies: number
  /** If it was asked for, and a workload with data goes somewhere. */
  transfer?: TransferTotal
}

export interface Answer {
  /** The number of workloads that were asked about. */
  workloads: number
  totals: Readonly<Record<Effect, EffectTotal>>
  /** The worst first, then by name. */
  changes: readonly WorkloadChange[]
}

/** The present state of a fleet, ready for questions. Both ways to ask yield to the event loop between workloads, and throw when the signal aborts. */
export interface AskableFleet {
  present: World
  index: BindingIndex
  /**
   * Answers a question. Set `decidesAll` to decide on every binding, without the index, and `transfers` to get the cost of each cluster to which
   * a workload goes.
   */
  ask(
    question: Question,
    options?: { signal?: AbortSignal; decidesAll?: boolean; transfers?: boolean },
  ): Promise<Answer>
  /** Answers several questions with their totals. It reads each binding once, and decides on it for all questions. */
  askEach<Q extends Question>(questions: readonly Q[], run?: Run): Promise<Answered<Q>[]>
}

export interface Answered<Q extends Question> {
  question: Q
  totals: Answer['totals']
}

/** Reads all bindings of a store once, and yields to the event loop meanwhile. Throws when the signal aborts. */
export async function openFleet(
  store: ObjectStore,
  settings: WorldSettings,
  signal?: AbortSignal,
): Promise<AskableFleet> {
  const present = openWorld(store, settings)
  const remembered = rememberOutcomes(present)
  const index = await indexBindings(present, signal)
  return {
    present,
    index,
    async ask(question, { signal: ended, decidesAll = false, transfers = false } = {}) {
      const world = supposeWorld(present, question)
      const concerned = () =>
        decidesAll ? { certain: everyKey([store, question.store]), possible: [] } : index.concernedBy(world)
      const changes: WorkloadChange[] = []
      const add = (change: WorkloadChange) => void changes.push(change)
      await findChanges({ world: present, outcomesOf: remembered, index }, [{ world, concerned, add }], {
        signal: ended,
      })
      const totals = new TotalsByEffect()
      for (const change of changes) totals.add(change)
      const answer = { workloads: index.size, totals: totals.result(), changes: changes.sort(byEffect) }
      return transfers ? { ...answer, ...withTransfers(answer, world) } : answer
    },
    async askEach(questions, run = {}) {
      const asked = questions.map((question) => ({ question, counted: new TotalsByEffect() }))
      const supposed = asked.map(({ question, counted }) => {
        const world = supposeWorld(present, question)
        return {
          world,
          concerned: () => index.concernedBy(world),
          add: (change: WorkloadChange) => counted.add(change),
        }
      })
      await findChanges({ world: present, outcomesOf: rememberOutcomes(present, 1), index }, supposed, run)
      return asked.map(({ question, counted }) => ({ question, totals: counted.result() }))
    },
  }
}

function everyKey(stores: readonly ObjectStore[]): Set<string> {
  return new Set(stores.flatMap((store) => [...placedBindings(store)].map(keyOfObject)))
}

/** Counts what happens to workloads. */
class TotalsByEffect {
  readonly #counts = new Map<Effect, { workloads: number; dependencies: number; bytes: Map<string, number> }>()

  /** A workload counts for each of its effects: a condition of a pipeline is about later ones, too. */
  add({ effect, next, data, dependencies }: WorkloadChange): void {
    for (const each of next ? [effect, next.effect] : [effect]) this.#count(each, data, dependencies)
  }

  #count(effect: Effect, data: WorkloadChange['data'], dependencies: number): void {
    const counted = this.#counts.get(effect) ?? { workloads: 0, dependencies: 0, bytes: new Map() }
    this.#counts.set(effect, counted)
    counted.workloads += 1
    counted.dependencies += dependencies
    for (const { source, bytes = 0 } of data) counted.bytes.set(source, bytes)
  }

  result(): Answer['totals'] {
    const total = (effect: Effect): EffectTotal => {
      const { workloads = 0, dependencies = 0, bytes = new Map<string, number>() } = this.#counts.get(effect) ?? {}
      return { workloads, bytes: [...bytes.values()].reduce((sum, size) => sum + size, 0), dependencies }
    }
    return Object.fromEntries(EFFECT_NAMES.map((effect) => [effect, total(effect)])) as Record<Effect, EffectTotal>
  }
}

function byEffect(a: WorkloadChange, b: WorkloadChange): number {
  return EFFECT_NAMES.indexOf(a.effect) - EFFECT_NAMES.indexOf(b.effect) || (changeKey(a) < changeKey(b) ? -1 : 1)
}

function changeKey({ workload: { kind, namespace = '', name } }: WorkloadChange): string {
  return `${namespace}/${name}/${kind}`
}
