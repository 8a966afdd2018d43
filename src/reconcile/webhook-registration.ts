/** Keeps the cluster's webhook configurations equal to the table of webhooks, caBundle included. */
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { planRegistration } from '../core/registration/plan.ts'
import type { ObjectStore } from '../store/store.ts'
import { applyWrite } from './apply.ts'

/**
 * Looks once and mends what differs. Reads past the cache: a handful of reads an hour, and no need to watch every webhook there is.
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
  const plan = planRegistration(configurations)
  for (const write of plan.actions) await applyWrite(store, write)
  return plan.actions.length
}

const types = [mutatingWebhookConfigurations, validatingWebhookConfigurations]
