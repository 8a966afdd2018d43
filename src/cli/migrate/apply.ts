/** Finds the objects of volcano-global page by page, and migrates them one after another. */

import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  clusterPropagationPolicies,
  type Placement,
  type PropagationPolicy,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import { type K8sObject, nameOfObject, type ResourceType } from '../../api/meta.ts'
import { mutatingWebhookConfigurations, REGISTRATION_NAME, type WebhookConfiguration } from '../../api/registration.ts'
import { defined } from '../../base/json.ts'
import { readDecision } from '../../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { EXCLUDED_CLUSTERS_ANNOTATION, UPSTREAM_WEBHOOK } from '../../core/resource-binding/volcano-global.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ConflictError, NotFoundError, type ObjectName, type ObjectStore } from '../../store/store.ts'
import { collectObjects } from '../all-objects/collect-objects.ts'
import { type Migration, planMigration } from './plan-migration.ts'

/** Claims and sources first: until their finalizers are removed, their deletion does not complete. */
export const MIGRATED_TYPES: readonly ResourceType[] = [dataSourceClaims, dataSources, resourceBindings]

/** An object to migrate. */
export interface Candidate extends ObjectName {
  type: ResourceType
  changes: readonly string[]
  /** Whether the exact changes depend on the policy of the binding, which a list does not contain. */
  dependsOnPolicy: boolean
}

export interface MigrationContext {
  connection: ApiConnection
  store: ObjectStore
  keepsSuspensions: boolean
  signal: AbortSignal
}

/** Another controller may write an object at the same time. More conflicts in a row mean that it does so all the time. */
const MAX_ATTEMPTS = 5

/** Lists a kind. Only the names and changes of the objects to migrate stay in memory. A kind that is not installed has none. */
export function findCandidates(type: ResourceType, context: MigrationContext): Promise<Candidate[]> {
  const { keepsSuspensions } = context
  return collectObjects(type, context, (object) => {
    const migration = planMigration({ object, policy: undefined, keepsSuspensions })
    if (!migration) return []
    return [{ type, ...nameOfObject(object), changes: migration.changes, dependsOnPolicy: hasExclusions(object) }]
  })
}

/** Returns the changes of an object, without making them; none if it was deleted or changed meanwhile. */
export async function preview(candidate: Candidate, context: MigrationContext): Promise<readonly string[]> {
  if (!candidate.dependsOnPolicy) return candidate.changes
  const object = await context.store.read(candidate.type, candidate.namespace, candidate.name)
  return (object && (await planBinding(object, context)))?.changes ?? []
}

function hasExclusions({ metadata }: K8sObject): boolean {
  return metadata.annotations?.[EXCLUDED_CLUSTERS_ANNOTATION] !== undefined
}

/** The result of one object: what was changed; undefined if it was deleted or changed by another client meanwhile. */
export interface Migrated {
  changes: readonly string[]
  /** The message of the hold that the admission of Lodestone has begun instead of the suspension. */
  hold?: string
}

/**
 * Migrates one object: reads it again, plans, and patches the version that was read. A conflict begins again.
 *
 * @throws ConflictError after five conflicts in a row, and errors of the API server
 */
export async function migrateObject(candidate: Candidate, context: MigrationContext): Promise<Migrated | undefined> {
  const { type, namespace, name } = candidate
  const { store } = context
  for (let attempt = 1; ; attempt++) {
    const object = await store.read(type, namespace, name)
    const migration = object && (await planBinding(object, context))
    if (!migration) return undefined
    try {
      const patched = await store.patch(type, { namespace, name }, { ...migration.patch })
      const { hold } = readDecision(patched.metadata?.annotations)
      return defined({ changes: migration.changes, hold: hold && !hold.released ? hold.message : undefined })
    } catch (error) {
      if (error instanceof NotFoundError) return undefined
      if (!(error instanceof ConflictError) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

async function planBinding(
  object: K8sObject,
  { store, keepsSuspensions }: MigrationContext,
): Promise<Migration | undefined> {
  const policy = hasExclusions(object) ? await readPolicyPlacement(object, store) : undefined
  return planMigration({ object, policy, keepsSuspensions })
}

async function readPolicyPlacement({ metadata }: K8sObject, store: ObjectStore): Promise<Placement | undefined> {
  const reference = policyReferenceOf(metadata)
  if (!reference) return undefined
  const type: ResourceType<PropagationPolicy> = reference.namespace ? propagationPolicies : clusterPropagationPolicies
  return (await store.read(type, reference.namespace, reference.name))?.spec.placement
}

/** Returns why the migration must wait, each with its remedy: a hub that is not ready would schedule or suspend workloads again. */
export async function findBlockers(context: MigrationContext): Promise<string[]> {
  const configurations: WebhookConfiguration[] = await collectObjects(
    mutatingWebhookConfigurations,
    context,
    (object) => [object],
  )
  const theirs = configurations.filter(({ webhooks }) => webhooks?.some(({ name }) => name === UPSTREAM_WEBHOOK))
  const ours = configurations.find(({ metadata }) => metadata.name === REGISTRATION_NAME)
  return [
    ...theirs.map(
      ({ metadata: { name } }) =>
        `the webhook of volcano-global would suspend workloads again; delete it: kubectl delete mutatingwebhookconfiguration ${name}`,
    ),
    ...(ours?.webhooks?.length
      ? []
      : ['Lodestone is not registered, so workloads would be scheduled without their data; start Lodestone first']),
  ]
}
