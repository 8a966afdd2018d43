/** The endpoint for Karmada's resource interpreter, which requests dependencies there, and its registration with Karmada. */
import type { DependentObjectReference } from '../api/dependencies.ts'
import {
  INTERPRET_DEPENDENCY,
  type InterpreterWebhookConfiguration,
  interpreterWebhookConfigurations,
} from '../api/interpreter.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { REGISTRATION_LABELS, REGISTRATION_NAME } from '../api/registration.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { clientConfigOf, type Registration } from './registration.ts'

/** Answers the queries of Karmada's resource interpreter. */
export interface Interpreter {
  /** The interpreted kinds, in every version. Karmada sends only these to Lodestone. */
  types: readonly ResourceType[]
  /** Whether the cluster has this object, with the same uid. Throws NotSyncedError before the cache is complete. */
  isStored(object: K8sObject): boolean
  /**
   * Returns the dependencies of an object of one of these kinds. Throws only unexpected errors, and NotSyncedError before the cache is
   * complete.
   */
  interpret(object: K8sObject): readonly DependentObjectReference[]
}

/**
 * Returns the kinds that Karmada sends to Lodestone: namespaced kinds with pods, for which Lodestone finds more dependencies than Karmada. Karmada
 * interprets all other kinds itself, also while Lodestone is down. Karmada attaches nothing to objects without a namespace.
 */
export function interpreterTypes(kinds: WorkloadKinds): ResourceType[] {
  return kinds.all
    .filter(({ type, templates, podSpecs }) => type.namespaced && (templates ?? podSpecs) !== undefined)
    .map(({ type }) => type)
}

/** The name in log lines and metrics; the registered name is `<name>.lodestone.dev`. */
export const INTERPRETER_NAME = 'dependencies'
export const INTERPRETER_PATH = '/interpret/dependencies'

/**
 * Returns the configuration with which Karmada sends these kinds, in any version. It is valid for Karmada's
 * own webhook (pkg/webhook/configuration/validating.go). There is one rule per group, because a rule matches every combination of its
 * values.
 */
export function interpreterRegistrationOf(
  types: readonly ResourceType[],
  registration: Registration,
  toBase64: (text: string) => string,
): InterpreterWebhookConfiguration {
  const groups = [...Map.groupBy(types, ({ group }) => group)].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    apiVersion: apiVersionOf(interpreterWebhookConfigurations),
    kind: interpreterWebhookConfigurations.kind,
    metadata: { name: REGISTRATION_NAME, labels: REGISTRATION_LABELS },
    webhooks: [
      {
        name: `${INTERPRETER_NAME}.lodestone.dev`,
        clientConfig: clientConfigOf(INTERPRETER_PATH, registration, toBase64),
        rules: groups.map(([group, inGroup]) => ({
          operations: [INTERPRET_DEPENDENCY],
          apiGroups: [group],
          apiVersions: ['*'],
          kinds: [...new Set(inGroup.map(({ kind }) => kind))].sort(),
        })),
        timeoutSeconds: registration.timeoutSeconds,
        interpreterContextVersions: ['v1alpha1'],
      },
    ],
  }
}
