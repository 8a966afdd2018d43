/** Reads names for completion: from the folder or the API server of the command line, within a second, and silent on errors. */
import { setTimeout as sleep } from 'node:timers/promises'
import { collectionPath, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { loadConfig } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { contextNames, openConnection } from '../../store/cluster/connection.ts'
import type { Arguments, CommandIo } from '../command.ts'
import { kindNames, kindsNamed, knownKinds } from '../kinds.ts'
import { openFolder } from '../open-folder.ts'
import { selectConnection } from '../options/connect.ts'
import { readNamespace } from '../options/namespace.ts'
import type { NameQuery } from './complete.ts'

const TIMEOUT_MS = 1_000
const MAX_NAMES = 500
const AS_NAMES = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'

/** Returns at most 500 names; an empty list after `timeoutMs`, or if they cannot be read. */
export async function readNames(
  { names, given }: NameQuery,
  io: CommandIo,
  timeoutMs: number = TIMEOUT_MS,
): Promise<string[]> {
  const timer = new AbortController()
  const signal = AbortSignal.any([io.signal, timer.signal])
  const late = sleep(timeoutMs, [] as string[], { signal: timer.signal })
  try {
    return (await Promise.race([find(names, given, io, signal), late])).slice(0, MAX_NAMES)
  } catch {
    // An error message would be printed into the command line that the user edits.
    return []
  } finally {
    timer.abort()
    await late.catch(() => undefined)
  }
}

async function find(
  names: NameQuery['names'],
  given: Arguments,
  io: CommandIo,
  signal: AbortSignal,
): Promise<string[]> {
  if (names === 'contexts') return contextNames(selectConnection(given, io, { usesHome: true }))
  const workloads = configuredWorkloadKinds(loadConfig(given.text('config')))
  const kinds = knownKinds(workloads)
  if (names === 'kinds') return kindNames(kinds)
  const folder = given.text('folder')
  if (names === 'namespaces') {
    if (folder === undefined) return listHub([namespaces], undefined, { given, io, signal })
    const objects = await listFolder(folder, workloads, kinds, signal)
    return [...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))].sort()
  }
  const types = kindsNamed(names.kind, kinds)
  const namespace = await readNamespace(given, io)
  if (folder === undefined) return listHub(types, namespace, { given, io, signal })
  const objects = await listFolder(folder, workloads, types, signal)
  const here = objects.filter((object) => (object.metadata.namespace ?? namespace) === namespace)
  return objectNames(here)
}

async function listFolder(
  folder: string,
  workloads: WorkloadKinds,
  types: readonly ResourceType[],
  signal: AbortSignal,
): Promise<K8sObject[]> {
  const store = openFolder(folder, { watch: false, workloads })
  try {
    await store.start(signal)
    return types.flatMap((type) => [...store.list(type)])
  } finally {
    await store.stop()
  }
}

async function listHub(
  types: readonly ResourceType[],
  namespace: string | undefined,
  { given, io, signal }: { given: Arguments; io: CommandIo; signal: AbortSignal },
): Promise<string[]> {
  const connection = await openConnection(selectConnection(given, io, { usesHome: true }))
  try {
    const lists = await Promise.all(
      types.map(async (type) => {
        const path = collectionPath(type, type.namespaced ? namespace : undefined)
        const query = { limit: MAX_NAMES }
        return connection.request('GET', path, { query, accept: AS_NAMES, signal })
      }),
    )
    return objectNames(lists.flatMap((list) => (list as { items: K8sObject[] }).items))
  } finally {
    await connection.close()
  }
}

function objectNames(objects: readonly K8sObject[]): string[] {
  return [...new Set(objects.flatMap(({ metadata }) => metadata.name ?? []))].sort()
}
