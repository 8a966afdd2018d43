/** Keeps the cluster's webhook configurations equal to the table of webhooks, with the caBundle. */
import { type InterpreterWebhookConfiguration, interpreterWebhookConfigurations } from '../api/interpreter.ts'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../api/registration.ts'
import type { WriteAction } from '../core/plan.ts'
import { MissingPrerequisiteError, type ObjectStore, rejectionMessage } from '../store/store.ts'
import { applyWrite } from './apply.ts'
import { planRegistration, planWithdrawal } from './plan-registration.ts'

/**
 * Compares the configurations once and repairs differences. It reads from the API server: a few reads per hour need no watch.
 *
 * @returns how many configurations were written
 */
export async function reconcileRegistration(
  store: ObjectStore,
  wanted: readonly WebhookConfiguration[],
): Promise<number> {
  const configurations = await Promise.all(
    wanted.map(async (configuration) => {
      const type = types.find(({ kind }) => kind === configuration.kind) ?? mutatingWebhookConfigurations
      const current = await store.read(type, undefined, configuration.metadata.name ?? '')
      return { type, wanted: configuration, current }
    }),
  )
  return applyAll(store, planRegistration(configurations).actions)
}

/**
 * Does the same for the registration with Karmada's resource interpreter. Without a wanted configuration, it empties an existing one of
 * Lodestone.
 *
 * @returns how many configurations were written; 0 if the API server does not serve the kind, because it is not a Karmada hub or not ready
 */
export async function reconcileInterpreterRegistration(
  store: ObjectStore,
  wanted: InterpreterWebhookConfiguration | undefined,
): Promise<number> {
  const type = interpreterWebhookConfigurations
  const current = await store.read(type, undefined, REGISTRATION_NAME)
  const actions = wanted ? planRegistration([{ type, wanted, current }]).actions : planWithdrawal(type, current)
  try {
    return await applyAll(store, actions)
  } catch (error) {
    if (error instanceof MissingPrerequisiteError && actions[0]?.kind === 'create') return 0
    throw error
  }
}

async function applyAll(store: ObjectStore, writes: readonly WriteAction[]): Promise<number> {
  for (const write of writes) {
    try {
      await applyWrite(store, write)
    } catch (error) {
      // Lodestone's own role has no right to create configurations; an administrator may give it.
      if (write.kind === 'create' && rejectionMessage(error) !== undefined) throw missing(write, error)
      throw error
    }
  }
  return writes.length
}

function missing({ type, object }: WriteAction, cause: unknown): Error {
  const part = type.group === interpreterWebhookConfigurations.group ? 'interpreter' : 'registration'
  return new Error(
    `${type.kind} ${object.metadata.name} is missing, and Lodestone may only update it: ${(cause as Error).message}; create it ` +
      `with "lodestone manifests ${part} | kubectl apply -f -" (on a hub with --url), or with the chart`,
    { cause },
  )
}

const types = [mutatingWebhookConfigurations, validatingWebhookConfigurations]
