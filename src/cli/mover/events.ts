/** Connects a mover to the API server for its Events, from its Pod or with a kubeconfig. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { events } from '../../api/event.ts'
import { collectionPath } from '../../api/meta.ts'
import { defined, isObject } from '../../base/json.ts'
import type { MoverIdentity, ObjectRef } from '../../mover/event.ts'
import type { EventSink } from '../../mover/events.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import { type CommandIo, UsageError } from '../command.ts'

/** Time limit for one Event, so that a slow API server does not delay the next one. */
const WRITE_TIMEOUT_MS = 5_000

/** The identity of the mover from the downward API; undefined outside a Pod. */
export function readIdentity(env: CommandIo['env'], attempt: number): MoverIdentity | undefined {
  const { POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid, NODE_NAME: node = '' } = env
  if (!name || !namespace) return undefined
  const about = env['EVENT_ABOUT'] ? readRef(env['EVENT_ABOUT']) : undefined
  return defined({ pod: defined({ name, namespace, uid: uid || undefined }), node, attempt, about })
}

function readRef(text: string): ObjectRef {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Reported below, with the expected form.
    value = undefined
  }
  const members = isObject(value) ? Object.values(value) : [0]
  if (
    isObject(value) &&
    value['apiVersion'] &&
    value['kind'] &&
    value['name'] &&
    members.every((member) => typeof member === 'string')
  ) {
    return value as unknown as ObjectRef
  }
  throw new UsageError('EVENT_ABOUT: must be {"apiVersion":"…","kind":"…","namespace":"…","name":"…","uid":"…"}')
}

/**
 * Opens the API server. It loads clients only if it needs them. In a Pod it does not load the client for kubeconfigs, which would double
 * the memory of a mover.
 * Returns undefined without an API server; throws `ConnectionConfigError` for an invalid kubeconfig.
 */
export async function openEventSink(
  kubeconfig: string | undefined,
  env: CommandIo['env'],
): Promise<{ sink: EventSink; close: () => Promise<void> } | undefined> {
  const connection = kubeconfig === undefined ? await connectInPod(env) : await connectByFile(kubeconfig)
  if (connection === undefined) return undefined
  return { sink: (event) => write(connection, event), close: () => connection.close() }
}

async function connectByFile(kubeconfig: string): Promise<ApiConnection> {
  const { openConnection } = await import('../../store/cluster/connection.ts')
  return openConnection({ kubeconfig })
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

async function connectInPod(env: CommandIo['env']): Promise<ApiConnection | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port || !existsSync(`${SERVICE_ACCOUNT}/token`)) return undefined
  const { createConnection } = await import('../../store/cluster/api-connection.ts')
  return createConnection({
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    // A projected token changes hourly; reading it for an Event every ten seconds is cheap.
    read: async () => ({
      headers: { authorization: `Bearer ${(await readFile(`${SERVICE_ACCOUNT}/token`, 'utf8')).trim()}` },
      transport: { tls: { ca: await readFile(`${SERVICE_ACCOUNT}/ca.crt`, 'utf8') } },
    }),
    forget: () => undefined,
  })
}

async function write(connection: ApiConnection, event: Parameters<EventSink>[0]): Promise<void> {
  const path = collectionPath(events, event.metadata.namespace)
  const timeoutMs = WRITE_TIMEOUT_MS
  try {
    await connection.request('POST', path, { body: event, timeoutMs })
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error
    const contentType = 'application/merge-patch+json'
    await connection.request('PATCH', `${path}/${event.metadata.name}`, { body: event, contentType, timeoutMs })
  }
}
