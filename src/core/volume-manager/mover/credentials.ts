/**
 * The credentials of a mover in another namespace than its VolumeManager: a copy of the Secret that lives as long as the Pod. Also the rights
 * of movers: to write their own Events.
 */

import { secrets, serviceAccounts } from '../../../api/dependencies.ts'
import { CREDENTIALS_ANNOTATION, MOVER_LABEL } from '../../../api/lodestone.ts'
import { apiVersionOf, type K8sObject, objectKey, type ResourceType, splitObjectKey } from '../../../api/meta.ts'
import { type EnvVar, type Pod, pods } from '../../../api/pod.ts'
import { bindClusterRole, roleBindings } from '../../../api/rbac.ts'
import { defined } from '../../../base/json.ts'

/** A Secret, with base64 values. */
export interface Secret extends K8sObject {
  type?: string
  immutable?: boolean
  data?: Record<string, string>
}

/** The environment of a mover in another namespace: it refers to the copy, which has the name of the Pod. */
export function withCopiedSecret(
  env: readonly EnvVar[],
  namespace: string | undefined,
  podName: string,
): { env: EnvVar[]; annotations: Record<string, string> } {
  const [name] = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [])
  if (name === undefined) return { env: [...env], annotations: {} }
  return {
    env: env.map(({ valueFrom, ...rest }) => {
      const { secretKeyRef } = valueFrom ?? {}
      if (!secretKeyRef) return valueFrom ? { ...rest, valueFrom } : rest
      return { ...rest, valueFrom: { secretKeyRef: { ...secretKeyRef, name: podName } } }
    }),
    annotations: { [CREDENTIALS_ANNOTATION]: objectKey(namespace, name) },
  }
}

/** The Secret to copy for a mover; undefined for a mover that needs no copy. */
export function credentialsOf({ metadata }: Pod): { namespace?: string; name: string } | undefined {
  const key = metadata.annotations?.[CREDENTIALS_ANNOTATION]
  return key === undefined ? undefined : splitObjectKey(key)
}

/** In KiB. Linux takes 128 KiB for a variable with its name (MAX_ARG_STRLEN). */
const MAX_VALUE_KIB = 127
/** Of a value in base64. */
const MAX_VALUE_CHARACTERS = Math.ceil((MAX_VALUE_KIB * 1024) / 3) * 4

/**
 * The copy has only the keys that the mover reads. Returns the reason if the Secret or a required key is missing, or if a mover could not
 * start with a value.
 */
export function copyOfSecret(
  pod: Pod,
  secret: Secret | undefined,
): { data: Record<string, string> } | { refusal: string } {
  const source = pod.metadata.annotations?.[CREDENTIALS_ANNOTATION]
  if (!secret) return { refusal: `secret "${source}" not found; create it` }
  const refs = pod.spec.containers.flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []),
  )
  const missing = refs.find(({ key, optional }) => !optional && secret.data?.[key] === undefined)
  if (missing) return { refusal: `secret "${source}" has no key ${missing.key}; add it` }
  const long = refs.find(({ key }) => (secret.data?.[key] ?? '').length > MAX_VALUE_CHARACTERS)
  if (long) return { refusal: `secret "${source}": key ${long.key} is longer than ${MAX_VALUE_KIB} KiB; shorten it` }
  const entries = refs.flatMap(({ key }) => {
    const value = secret.data?.[key]
    return value === undefined ? [] : [[key, value] as const]
  })
  return { data: Object.fromEntries(entries) }
}

/**
 * The Secret of a mover, for a create request. The garbage collector deletes it after the Pod, which owns it. Without a uid, the Pod does not
 * exist yet, and the request can only be a dry run.
 */
export function secretFor({ metadata }: Pod, data: Record<string, string>): Secret {
  const { namespace, name = '', uid, labels } = metadata
  return {
    apiVersion: apiVersionOf(secrets),
    kind: secrets.kind,
    metadata: defined({
      name,
      namespace: namespace || undefined,
      labels: { [MOVER_LABEL]: labels?.[MOVER_LABEL] ?? '' },
      ownerReferences: uid ? [{ apiVersion: apiVersionOf(pods), kind: pods.kind, name, uid }] : undefined,
    }),
    type: 'Opaque',
    immutable: true,
    data,
  }
}

/**
 * The right to write what is reserved for movers (own-mover.ts). The API server has no such resource: a webhook asks for the right. It asks
 * without a namespace, so that a wildcard in a Role is not enough.
 */
export const MOVER_RIGHT = { group: 'lodestone.dev', resource: 'movers', verb: 'create' }

/** The ClusterRole of movers (app/roles/volume-roles.ts). */
export const MOVER_ROLE = 'lodestone-mover'

interface AccessObject {
  type: ResourceType
  object: K8sObject
}

/** The ServiceAccount of the movers in a namespace, and its RoleBinding. */
export function moverAccess(namespace: string, name: string): AccessObject[] {
  const metadata = { name, namespace }
  return [
    { type: serviceAccounts, object: { apiVersion: 'v1', kind: serviceAccounts.kind, metadata } },
    { type: roleBindings, object: bindClusterRole(MOVER_ROLE, metadata, metadata) },
  ]
}

/** The RoleBinding for movers with a ServiceAccount of users, which Lodestone does not create. */
export function userAccountAccess(namespace: string, name: string): AccessObject[] {
  const metadata = { name: `${MOVER_ROLE}.${name}`, namespace }
  return [{ type: roleBindings, object: bindClusterRole(MOVER_ROLE, metadata, { name, namespace }) }]
}
