import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeNamespace } from '../../../test/builders.ts'
import { Fleet } from '../../../test/fleet/fleet.ts'
import { NEVER, storeOf, temporaryFile, written } from '../../../test/fleet/fleet-files.ts'
import { fleetSource, SETTINGS } from '../../../test/fleet/fleet-store.ts'
import { configMaps } from '../../api/dependencies.ts'
import { isBinding, type ResourceBinding } from '../../api/karmada.ts'
import { type K8sObject, keyOfObject } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { type IndexFunctions, ObjectTable } from '../cache/object-table.ts'
import type { ObjectStore } from '../store.ts'
import { CompactTable } from './compact-table.ts'
import { ObjectRows, openSnapshotStore } from './read-snapshot.ts'
import { snapshotKinds } from './snapshot-kinds.ts'
import { writeSnapshotFile } from './write-snapshot.ts'

const kinds = snapshotKinds(SHIPPED_KINDS)
const SMALL = { clusters: 20, sources: 60, bindings: 500 }
/** For tests in which the number of objects does not matter. */
const TINY = { clusters: 5, sources: 5, bindings: 20 }

describe('a snapshot has the objects of its store', () => {
  test.each(['examples/hub', 'examples/member'])('%s', async (folder) => {
    const store = await storeOf(folder)
    await expectSame(store, (await written({ store })).store)
  })

  test.each([1, 2])('a generated hub, seed %i', async (seed) => {
    const store = await storeOf(new Fleet(seed, SMALL))
    expect(statesOf(store)).toEqual(expect.arrayContaining(['hold', 'Narrowed', 'Kept']))
    await expectSame(store, (await written({ store })).store)
  })

  test('objects with more shapes and values than repeat', async () => {
    const store = await storeOf(new Fleet(4, { clusters: 5, sources: 10, bindings: 10 }))
    for (let i = 0; i < 1500; i++) {
      const labels = { [`key-${i}`]: '"\u2028\\', __proto__: 'none' }
      await store.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `more-${i}`, labels } })
    }
    await expectSame(store, (await written({ store })).store)
  })
})

test('equal values are one object in memory', async () => {
  const { store } = await written({ store: fleetSource(new Fleet(1, SMALL)) })
  const placements = new Map<string, Set<unknown>>()
  for (const type of store.kinds().filter(({ kind }) => isBinding(kind))) {
    for (const { spec } of store.list(type) as Iterable<ResourceBinding>) {
      const text = JSON.stringify(spec.placement)
      placements.set(text, (placements.get(text) ?? new Set()).add(spec.placement))
    }
  }
  expect([...placements.values()].filter(({ size }) => size > 1)).toEqual([])
})

test('a compact table answers as a table with keys', () => {
  const fleet = new Fleet(5, SMALL)
  for (const { type, keep, indexes } of kinds) {
    const functions = indexes as IndexFunctions<K8sObject>
    const objects = [...fleet.ofType(type)].map(({ object }) => keep(object as never))
    const usual = new ObjectTable(functions)
    for (const object of objects) usual.set(object)
    const rows = objects.map((_, number) => String(number))
    const compact = new CompactTable(new ObjectRows(rows, (row) => objects[Number(row)] as K8sObject), functions)
    expect([...compact.values()]).toEqual(objects)
    for (const { metadata } of [...objects, makeNamespace('missing')]) {
      expect(compact.get(metadata.namespace, metadata.name ?? '')).toBe(
        usual.get(metadata.namespace, metadata.name ?? ''),
      )
    }
    for (const [name, keysOf] of Object.entries(functions)) {
      for (const key of new Set([...objects.flatMap(keysOf), 'missing'])) {
        expect(compact.byIndex(name, key), `${type.kind} ${name} ${key}`).toEqual(usual.byIndex(name, key))
      }
    }
    expect(() => compact.byIndex('unknown', 'key')).toThrow('there is no index "unknown"')
  }
})

test('a store of a snapshot cannot be written, and has no other kinds', async () => {
  const { store, header } = await written({ store: fleetSource(new Fleet(1, TINY)) })
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } }
  await expect(store.create(namespaces, namespace)).rejects.toThrow('a snapshot is read-only')
  await expect(store.delete(namespaces, namespace)).rejects.toThrow('a snapshot is read-only')
  expect(() => store.get(configMaps, 'default', 'settings')).toThrow('a snapshot has no ConfigMap objects')
  expect(store.serves(configMaps)).toBe(false)
  expect(header).toMatchObject(SETTINGS)
})

test('a kind that could not be read does not look empty', async () => {
  const from = fleetSource(new Fleet(1, TINY))
  const unavailable = [{ type: namespaces, reason: 'Forbidden' as const, message: 'no right to list' }]
  const { store } = await written({ store: { ...from, unavailable: () => unavailable, serves: () => false } })
  expect(store.unavailable()).toEqual(unavailable)
  expect(store.serves(namespaces)).toBe(false)
})

describe('an invalid file is an error for the user', () => {
  const REMEDY = 'write the snapshot again'
  const lines = (change: (lines: string[]) => string[]) => (file: Buffer) =>
    gzipSync(change(gunzipSync(file).toString().split('\n')).join('\n'))
  let valid: Buffer
  beforeAll(async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'lodestone-snapshot-')), 'fleet.lsnap')
    await writeSnapshotFile({ settings: SETTINGS, store: fleetSource(new Fleet(1, TINY)) }, file, NEVER)
    valid = readFileSync(file)
    rmSync(dirname(file), { recursive: true })
  })
  const replaced = (from: string | RegExp, to: string) => lines((all) => all.join('\n').replace(from, to).split('\n'))

  test.each<[string, (file: Buffer) => Buffer, string]>([
    ['an empty file', () => Buffer.alloc(0), '@ is not a snapshot'],
    [
      'another file',
      () => Buffer.from('remember the milk\n'),
      '@ is not a snapshot; write one with: lodestone snapshot',
    ],
    ['another compressed file', () => gzipSync('remember the milk\n'), '@ is not a snapshot'],
    ['compressed JSON', () => gzipSync('{}\n'), '@ is not a snapshot'],
    ['half of a file', (file) => file.subarray(0, file.length / 2), `@ is not complete; ${REMEDY}`],
    ['a file without its end', (file) => file.subarray(0, -1), `@ is not complete; ${REMEDY}`],
    ['a file without its last line', lines((all) => [...all.slice(0, -2), '']), `@ is not complete; ${REMEDY}`],
    ['a file that continues', lines((all) => [...all, '{"kind":"X"}', '']), '@ is damaged: it continues after its end'],
    [
      'one object less',
      lines((all) =>
        all.toSpliced(
          all.findIndex((line) => line.startsWith('[')),
          1,
        ),
      ),
      '@ is damaged: its objects',
    ],
    [
      'objects without a spec',
      replaced(/"spec":/g, '"spex":'),
      '@ is damaged: DataSourceClaim.datadependency.volcano.sh tenant-0-prod/claim-0-of-data-0: spec: is required',
    ],
    [
      'clusters that are no list',
      replaced(/"clusterNames":\[[^\]]*\]/g, '"clusterNames":7'),
      '@ is damaged: DataSource',
    ],
    ['a new version', replaced('"version":1', '"version":2'), '@ has version 2 of the format'],
    [
      'a header without a field',
      replaced('"anonymous"', '"anon"'),
      '@ is damaged: its header is invalid: anonymous: is required',
    ],
    ['no time', replaced(/"takenAt":"[^"]*"/, '"takenAt":"today"'), '@ is damaged: its header is invalid: takenAt'],
    ['a line without JSON', lines((all) => all.toSpliced(5, 0, '{')), `@ is damaged: a line is not JSON; ${REMEDY}`],
    ['an unknown line', lines((all) => all.toSpliced(5, 0, '{"more":1}')), '@ is damaged: a line has an unknown type'],
    [
      'an unknown kind',
      replaced('"kind":"Namespace"', '"kind":"Secret"'),
      '@ is damaged: it has objects of the unknown kind',
    ],
    ['an unknown value', replaced(/^\[0,(\d+)/m, '[0,999999'), '@ is damaged: value 999999 is missing'],
    ['a row that is too long', replaced(/^\[0,/m, '[0,0,'), '@ is damaged: a row does not fit its shape'],
    ['a row without a shape', replaced(/^\[0,/m, '[77,'), '@ is damaged: a row does not fit its shape'],
    ['a prototype', replaced('{"shape":{', '{"shape":{"__proto__":0,'), '@ is damaged: a shape is invalid'],
    [
      'a deep shape',
      replaced('{"shape":{', `{"shape":{"a":${'{"a":'.repeat(20_000)}0${'}'.repeat(20_000)},`),
      '@ is damaged: a shape is invalid',
    ],
    [
      'a deep value',
      replaced('{"shape":{', `{"value":${'['.repeat(200_000)}${']'.repeat(200_000)}}\n{"shape":{`),
      '@ is damaged: ',
    ],
    [
      'a long line',
      lines((all) => all.toSpliced(5, 0, `{"value":"${'x'.repeat(9_000_000)}"}`)),
      '@ is damaged: a line has more than',
    ],
    [
      'text that is not UTF-8',
      (file) => gzipSync(Buffer.concat([gunzipSync(file), Buffer.from([0xff, 0x0a])])),
      '@ is damaged: it is not UTF-8',
    ],
  ])('%s', async (_, change, message) => {
    const file = temporaryFile()
    writeFileSync(file, change(valid))
    const error = await openSnapshotStore({ file, signal: NEVER }).catch((thrown) => thrown)
    expect(`${error.name}: ${error.message.replaceAll(file, '@')}`).toContain(`SnapshotError: ${message}`)
    expect(error.exitStatus).toBe(2)
  })

  test('each flipped bit is found', async () => {
    const { file } = await written({ store: fleetSource(new Fleet(1, { clusters: 3, sources: 3, bindings: 5 })) })
    const bytes = readFileSync(file)
    // Of the header of gzip, only the magic and the method count; time and system do not.
    for (let at = 10; at < bytes.length; at += 13) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at)
      writeFileSync(file, changed)
      const error = await openSnapshotStore({ file, signal: NEVER }).catch((thrown) => thrown)
      // The last byte before the checksum may have bits that mean nothing.
      const isSame = error.name === undefined && gunzipSync(changed).equals(gunzipSync(bytes))
      expect(isSame ? 'SnapshotError' : error.name, `bit of byte ${at}`).toBe('SnapshotError')
    }
  })

  test.each([
    ['a folder', dirname, 'is a directory, not a file'],
    ['a missing file', (file: string) => `${file}.missing`, 'no such file or directory'],
  ])('%s', async (_, pathOf, message) => {
    const file = pathOf(temporaryFile())
    await expect(openSnapshotStore({ file, signal: NEVER })).rejects.toThrow(`${file}: ${message}`)
  })

  test('a pipe, which would block', async () => {
    const file = temporaryFile()
    execFileSync('mkfifo', [file])
    await expect(openSnapshotStore({ file, signal: NEVER })).rejects.toThrow(`${file} is a pipe; write`)
  })
})

describe('an interrupted command', () => {
  const store = fleetSource(new Fleet(1, TINY))

  test('leaves the previous file while it writes', async () => {
    const file = temporaryFile()
    writeFileSync(file, 'before')
    const abort = new AbortController()
    const change = (object: K8sObject) => {
      abort.abort(new Error('Ctrl-C'))
      return object
    }
    await expect(writeSnapshotFile({ store, settings: SETTINGS, change }, file, abort.signal)).rejects.toThrow()
    expect(readFileSync(file, 'utf8')).toBe('before')
    expect(readdirSync(dirname(file))).toEqual(['fleet.lsnap'])
  })

  test('ends while it reads', async () => {
    const { file } = await written({ store })
    await expect(openSnapshotStore({ file, signal: AbortSignal.abort(new Error('Ctrl-C')) })).rejects.toThrow('Ctrl-C')
  })
})

test('a path that cannot be written is an error for the user', async () => {
  const file = `${temporaryFile()}/nowhere/fleet.lsnap`
  const content = { store: fleetSource(new Fleet(1, TINY)), settings: SETTINGS }
  await expect(writeSnapshotFile(content, file, NEVER)).rejects.toThrow(`${file} cannot be written: no such file`)
})

/** Expects the same objects, and for each index the same objects for each key. */
async function expectSame(from: ObjectStore, to: ObjectStore): Promise<void> {
  expect(to.kinds()).toEqual(from.kinds())
  for (const { type, indexes } of kinds) {
    const objects = [...from.list(type)]
    expect([...to.list(type)], type.kind).toEqual(objects)
    expect(to.size(type)).toBe(objects.length)
    for (const { metadata } of objects) {
      expect(to.get(type, metadata.namespace, metadata.name ?? '')).toEqual(
        from.get(type, metadata.namespace, metadata.name ?? ''),
      )
    }
    for (const [index, keysOf] of Object.entries(indexes as IndexFunctions<K8sObject>)) {
      expect(to.typesWithIndex(index)).toContainEqual(type)
      for (const key of new Set(objects.flatMap(keysOf))) {
        expect(sorted(to.byIndex(type, index, key))).toEqual(sorted(from.byIndex(type, index, key)))
      }
    }
  }
}

/** The order in an index is that in which a store received the objects. */
function sorted(objects: readonly K8sObject[]): K8sObject[] {
  return objects.toSorted((a, b) => (keyOfObject(a) < keyOfObject(b) ? -1 : 1))
}

/** The states in the annotations of the bindings. */
function statesOf(store: ObjectStore): string[] {
  const bindings = store.kinds().filter(({ kind }) => isBinding(kind))
  const annotations = bindings.flatMap((type) =>
    [...store.list(type)].map(({ metadata }) => metadata.annotations ?? {}),
  )
  return annotations.flatMap((texts) => [
    ...('lodestone.dev/hold' in texts ? ['hold'] : []),
    ...('lodestone.dev/locality' in texts ? [JSON.parse(texts['lodestone.dev/locality'] ?? '').state as string] : []),
  ])
}
