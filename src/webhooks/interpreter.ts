/** Where Karmada's resource interpreter asks for dependencies, and how it is told to ask. */
import type { DependentObjectReference } from '../api/dependencies.ts'
import {
  INTERPRET_DEPENDENCY,
  type InterpreterWebhookConfiguration,
  interpreterWebhookConfigurations,
} from '../api/interpreter.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { REGISTRATION_LABELS, REGISTRATION_NAME } from '../api/registration.ts'
import { clientConfigOf, type Registration } from './registration.ts'

/** What answers the questions. */
export interface Interpreter {
  /** The kinds whose dependencies it knows: Karmada is told to ask for these and for no other. */
  types: readonly ResourceType[]
  /** The dependencies of an object of one of these kinds. Throws only when something is broken, e.g. NotSyncedError. */
  interpret(object: K8sObject): readonly DependentObjectReference[]
}

/** In log lines and metrics; the registered name is `<name>.lodestone.dev`. */
export const INTERPRETER_NAME = 'dependencies'
export const INTERPRETER_PATH = '/interpret/dependencies'

/**
 * The configuration that makes Karmada ask for the dependencies of these kinds, valid by Karmada's own webhook
 * (pkg/webhook/configuration/validating.go). Kinds share a rule only within one group and version: a rule means every combination of
 * what stands in it.
 */
export function interpreterRegistrationOf(
  types: readonly ResourceType[],
  registration: Registration,
  toBase64: (text: string) => string,
): InterpreterWebhookConfiguration {
  const groups = Map.groupBy(types, apiVersionOf)
  const rules = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kinds]) => ruleFor(kinds))
  return {
    apiVersion: apiVersionOf(interpreterWebhookConfigurations),
    kind: interpreterWebhookConfigurations.kind,
    metadata: { name: REGISTRATION_NAME, labels: REGISTRATION_LABELS },
    webhooks: [
      {
        name: `${INTERPRETER_NAME}.lodestone.dev`,
        clientConfig: clientConfigOf(INTERPRETER_PATH, registration, toBase64),
        rules,
        timeoutSeconds: registration.timeoutSeconds,
        interpreterContextVersions: ['v1alpha1'],
      },
    ],
  }
}

function ruleFor(types: readonly ResourceType[]) {
  const unique = (values: string[]): string[] => [...new Set(values)].sort()
  return {
    operations: [INTERPRET_DEPENDENCY],
    apiGroups: unique(types.map(({ group }) => group)),
    apiVersions: unique(types.map(({ version }) => version)),
    kinds: unique(types.map(({ kind }) => kind)),
  }
}
