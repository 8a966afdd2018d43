/** The endpoint that Karmada's resource interpreter asks for dependencies, and its registration with Karmada. */
import type { DependentObjectReference } from '../api/dependencies.ts'
import {
  INTERPRET_DEPENDENCY,
  type InterpreterWebhookConfiguration,
  interpreterWebhookConfigurations,
} from '../api/interpreter.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { REGISTRATION_LABELS, REGISTRATION_NAME } from '../api/registration.ts'
import { interpretedKinds } from '../core/dependencies/kinds.ts'
import { clientConfigOf, type Registration } from './registration.ts'

/** Answers the queries of Karmada's resource interpreter. */
export interface Interpreter {
  /** The kinds whose dependencies it knows, in every version: Karmada is told to ask for these and for no other. */
  types: readonly ResourceType[]
  /** Whether the cluster has this very object, by its uid. Throws NotSyncedError before that is known. */
  isStored(object: K8sObject): boolean
  /** The dependencies of an object of one of these kinds. Throws only when something is broken, e.g. NotSyncedError. */
  interpret(object: K8sObject): readonly DependentObjectReference[]
}

/**
 * The kinds about which Karmada asks Lodestone: those with pods, of which Lodestone finds more dependencies than Karmada does. Karmada goes
 * on interpreting all other kinds itself, also while Lodestone is down. It attaches nothing to objects without a namespace.
 */
export const interpreterTypes: readonly ResourceType[] = interpretedKinds
  .filter(({ type, templates, podSpecs }) => type.namespaced && (templates ?? podSpecs) !== undefined)
  .map(({ type }) => type)

/** In log lines and metrics; the registered name is `<name>.lodestone.dev`. */
export const INTERPRETER_NAME = 'dependencies'
export const INTERPRETER_PATH = '/interpret/dependencies'

/**
 * The configuration that makes Karmada ask for the dependencies of these kinds, whatever their version, as the table of kinds has it
 * (core/dependencies/kinds.ts). It passes Karmada's own webhook (pkg/webhook/configuration/validating.go). There is a rule for each group,
 * because a rule means every combination of its values.
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
