/** Creates the movers of a plan, and remembers why the API server rejected one. */
import { keyOfObject } from '../../api/meta.ts'
import { type Pod, pods } from '../../api/pod.ts'
import type { Action, Plan } from '../../core/plan.ts'
import { readTask } from '../../core/volume-manager/mover/task.ts'
import type { VolumeSettings } from '../../core/volume-manager/rules/settings.ts'
import { NamespaceTerminatingError } from '../../store/store.ts'
import { applyPlan, type Writers } from '../apply.ts'
import { type MoverMemory, type RetryMemory, rememberRejection, rememberServed } from './memory.ts'
import { createCopy, type MoverAccess, readCredentials, tryCopy } from './mover-access.ts'
import { refusalOfMover } from './mover-refusal.ts'

type MoverCreation = Extract<Action, { kind: 'create' | 'update' }>

/** Whether an action creates the Pod of a mover. */
export function isMoverCreation(action: Action): action is MoverCreation {
  return action.kind === 'create' && action.type.kind === pods.kind
}

export interface CreationContext extends Writers {
  memory: MoverMemory
  retries: RetryMemory
  access: MoverAccess
  settings: VolumeSettings['movers']
  now: number
}

/**
 * Creates the movers of a plan, with their ServiceAccount and their credentials. A mover that the API server rejects is no error: the next
 * plan reads the reason from memory. Any other error is thrown.
 */
export async function createMovers(
  { actions }: Plan,
  context: CreationContext,
): Promise<{ created: Pod[]; isRejected: boolean }> {
  const { memory, retries, now } = context
  const creations = actions.filter(isMoverCreation)
  // Before the first await, so that another run does not use the same slots.
  for (const { object } of creations) {
    memory.created.set(keyOfObject(object), object as Pod)
    rememberServed(memory, object as Pod, now)
  }
  const untried = new Set(creations.map(({ object }) => keyOfObject(object)))
  const created: Pod[] = []
  try {
    for (const creation of creations) {
      untried.delete(keyOfObject(creation.object))
      const refusal = await createMover(creation, context)
      if (refusal === undefined) created.push(creation.object as Pod)
      else retries.refusals.set(creation.object.metadata.name ?? '', refusal)
    }
  } finally {
    for (const mover of untried) memory.created.delete(mover)
  }
  return { created, isRejected: created.length < creations.length }
}

/** Creates one mover. Returns why it was rejected. */
async function createMover(
  action: MoverCreation,
  { memory, retries, access, settings, now, ...writers }: CreationContext,
): Promise<string | undefined> {
  const { created } = memory
  const { namespace = '', name = '' } = action.object.metadata
  const key = keyOfObject(action.object)
  const mover = action.object as Pod
  try {
    await access.grant(namespace, settings.serviceAccountName, { store: writers.store, now })
    await access.grantUsers(mover, settings, { store: writers.store, now })
    const credentials = await readCredentials(mover, writers.store)
    if (credentials && 'refusal' in credentials) {
      created.delete(key)
      return credentials.refusal
    }
    if (credentials) await tryCopy(mover, credentials.data, writers.store)
    await applyPlan(writers, { actions: [action] })
    if (credentials) await createCopy(mover, credentials.data, writers.store)
    // A folder store has the mover in its cache already.
    if (writers.store.get(pods, namespace, name)) created.delete(key)
    return undefined
  } catch (error) {
    created.delete(key)
    const refusal = refusalOfMover(error)
    if (refusal === undefined) throw error
    retries.isTerminating ||= error instanceof NamespaceTerminatingError
    // The ServiceAccount may have been deleted, for example with its namespace.
    for (const account of [settings.serviceAccountName, mover.spec.serviceAccountName ?? ''])
      access.forget(namespace, account)
    rememberRejection(memory, namespace, readTask(mover)?.manager ?? '')
    return refusal
  }
}
