/** The registrations that Lodestone wants: with the API server for admission, and with Karmada's resource interpreter. */

import { CLAIMED_WORKLOADS_POLICY, type ValidatingAdmissionPolicy } from '../api/admission-policy.ts'
import type { InterpreterWebhookConfiguration } from '../api/interpreter.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import {
  DIGEST_ANNOTATION,
  type Registrable,
  VERSION_ANNOTATION,
  type WebhookConfiguration,
} from '../api/registration.ts'
import { listDigest } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import { readBuildInfo } from '../telemetry/build-info.ts'
import type { ServingCertificates } from '../tls/source.ts'
import { absencePolicies, exemptNamespacesOf } from '../webhooks/absence.ts'
import { allWebhooks } from '../webhooks/index.ts'
import { interpreterRegistrationOf } from '../webhooks/interpreter.ts'
import { type Registration, webhookConfigurations } from '../webhooks/registration.ts'
import type { Config } from './config/config.ts'
import { configuredWorkloadKinds } from './config/workload-kinds-config.ts'

/** Returns the webhook configurations that the API server should have, with the present CA bundle. */
export function wantedRegistration(
  config: Config,
  certificates?: Pick<ServingCertificates, 'caBundlePem'>,
): WebhookConfiguration[] {
  const webhooks = allWebhooks(configuredWorkloadKinds(config))
  return webhookConfigurations(webhooks, registrationTerms(config, certificates), toBase64).map(named)
}

/** Returns the configuration for Karmada's resource interpreter; undefined if Lodestone does not serve it. */
export function wantedInterpreterRegistration(
  config: Config,
  types: readonly ResourceType[],
  certificates?: Pick<ServingCertificates, 'caBundlePem'>,
): InterpreterWebhookConfiguration | undefined {
  if (config.dependencies.distribution !== 'karmada') return undefined
  return named(interpreterRegistrationOf(types, registrationTerms(config, certificates), toBase64))
}

/**
 * Returns the policies that the API server applies while no replica answers. Replicas of one configuration want the same digests, whichever
 * namespaces are exempt now.
 */
export function wantedAbsencePolicies(
  config: Config,
  exemptNamespaces: readonly string[] = [],
): ValidatingAdmissionPolicy[] {
  const excludedNamespaces = allExcludedNamespaces(config)
  const digests = absencePolicies({ excludedNamespaces }).map(({ spec }) => listDigest([JSON.stringify(spec)]))
  return absencePolicies({ excludedNamespaces, exemptNamespaces }).map((policy, i) =>
    withNames(policy, digests[i] ?? ''),
  )
}

/** Returns the exempt namespaces of the stored policies. */
export function storedExemptNamespaces(policies: readonly ValidatingAdmissionPolicy[], config: Config): string[] {
  const policy = policies.find(({ metadata }) => metadata.name === CLAIMED_WORKLOADS_POLICY)
  return policy ? exemptNamespacesOf(policy, { excludedNamespaces: allExcludedNamespaces(config) }) : []
}

function named<T extends Registrable>(registration: T): T {
  return withNames(registration, registrationDigest(registration))
}

/** Returns a registration with its version and its digest. */
function withNames<T extends K8sObject>(registration: T, digest: string): T {
  const { metadata } = registration
  const annotations = { [VERSION_ANNOTATION]: VERSION, [DIGEST_ANNOTATION]: digest }
  return { ...registration, metadata: { ...metadata, annotations } }
}

/** The version of this build. */
export const VERSION = readBuildInfo().version

/** Returns a digest of webhooks without their CA, which changes at run time. */
function registrationDigest({ webhooks = [] }: Registrable): string {
  const entries = webhooks.map(({ clientConfig: { caBundle: _, ...address }, ...entry }) => ({ ...entry, address }))
  return listDigest(entries.map((entry) => JSON.stringify(entry)))
}

/** The namespaces that the registration excludes, with that of Lodestone. */
export function allExcludedNamespaces({ registration: { service, excludedNamespaces } }: Config): string[] {
  return [...new Set([...excludedNamespaces, service.namespace])]
}

function registrationTerms(config: Config, certificates?: Pick<ServingCertificates, 'caBundlePem'>): Registration {
  const { mode, url = '', service, timeoutSeconds } = config.registration
  return defined({
    target: mode === 'url' ? { url } : { service },
    caBundlePem: certificates?.caBundlePem,
    timeoutSeconds,
    excludedNamespaces: allExcludedNamespaces(config),
  })
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
