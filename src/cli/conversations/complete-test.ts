/** Completes a test: reads its files, and validates its objects and its configuration as the server does. */
import { statSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { Document } from 'yaml'
import type { K8sObject } from '../../api/meta.ts'
import { type Config, completeConfig, DEFAULT_CONFIG } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { defined, withoutNulls } from '../../base/json.ts'
import { suggest } from '../../base/suggest.ts'
import { UserError } from '../../base/user-error.ts'
import { findMistake, parseManifests } from '../../store/folder/manifests.ts'
import { readTextFile, UnreadableFileError } from '../../store/folder/read-text.ts'
import { isGone } from '../../store/folder/scan.ts'
import { withoutVersion } from '../check/input/place-manifests.ts'
import { validateManifest } from '../check/input/validate-manifest.ts'
import { openFolder } from '../open-folder.ts'
import type { Expected, GivenTest } from './test-schema.ts'

/** A test that can run. */
export interface TestCase {
  /** The file, with the number of the document if the file has several. */
  name: string
  description: string
  config: Config
  /** Milliseconds since the epoch. */
  now: number
  given: readonly K8sObject[]
  object: K8sObject
  oldObject?: K8sObject
  expect: Expected
  document: Document.Parsed
}

/** The place of a test, and the function that reports its errors. */
export interface TestPlace {
  name: string
  file: string
  document: Document.Parsed
  report: (path: string, message: string) => void
  folders: ReadFolders
}

interface ReadFolder {
  objects: readonly K8sObject[]
  errors: readonly string[]
}

/** The folders that were read, by path and kinds: many tests have the same stored manifests. */
export type ReadFolders = Map<string, ReadFolder>

/** A fixed time, so that each run gives the same answer. */
const DEFAULT_NOW = '2026-01-01T00:00:00Z'

/** Completes a valid test. Reports errors and returns undefined if an object, a file or the configuration is invalid. */
export async function completeTest(test: GivenTest, place: TestPlace): Promise<TestCase | undefined> {
  let isValid = true
  const report = (path: string, message: string) => {
    isValid = false
    place.report(path, message)
  }
  const now = Date.parse(test.now ?? DEFAULT_NOW)
  if (Number.isNaN(now)) report('now', `must be a time such as ${DEFAULT_NOW}`)
  const config = testConfig(test.config, report)
  const given = (test.given ?? []).map((value, i) => toManifest(value, `given[${i}]`, report))
  for (const [i, object] of given.entries()) {
    for (const { path, message } of object ? validateManifest(object) : []) report(`given[${i}].${path}`, message)
  }
  const files = await readFiles(test.files ?? [], config, { ...place, report })
  const { object, others } = await readRequest(test.when, { ...place, report })
  const oldObject =
    test.when.oldObject === undefined ? undefined : toManifest(test.when.oldObject, 'when.oldObject', report)
  if (!isValid || !object) return undefined
  return defined({
    name: place.name,
    description: test.description ?? '',
    config,
    now,
    given: [...files, ...given.filter((one) => one !== undefined), ...others],
    object,
    oldObject,
    expect: test.expect ?? {},
    document: place.document,
  })
}

type Report = TestPlace['report']

function testConfig(given: object | undefined, report: Report): Config {
  try {
    return given ? completeConfig(given, 'config') : DEFAULT_CONFIG
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    report('config', error.message.replace(/^config: /, ''))
    return DEFAULT_CONFIG
  }
}

/** Reads an inline object. A request may have `generateName`, which a manifest of a folder may not. */
function toManifest(value: unknown, path: string, report: Report): K8sObject | undefined {
  const mistake = findMistake(value, { generateName: true })
  if (mistake === undefined) return withoutNulls(value as K8sObject)
  report(path, mistake)
  return undefined
}

/** Reads the manifests of files and folders, which are relative to the file of the test. */
async function readFiles(
  paths: readonly string[],
  config: Config,
  { file, report, folders }: TestPlace,
): Promise<K8sObject[]> {
  const objects: K8sObject[] = []
  for (const [i, path] of paths.entries()) {
    const found = besides(file, path)
    const at = `files[${i}]`
    const stats = statSync(found, { throwIfNoEntry: false })
    if (!stats) report(at, `${found} does not exist`)
    else if (stats.isDirectory()) {
      const folder = await readFolder(found, config, folders)
      for (const error of folder.errors) report(at, error)
      objects.push(...folder.objects)
    } else if (stats.isFile()) objects.push(...(await readManifests(found, stats.size, (text) => report(at, text))))
    else report(at, `${found} is neither a file nor a folder`)
  }
  return objects
}

/** The path of a file that a test names. */
function besides(testFile: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(testFile), path)
}

/** Reads a folder once for all tests that name it. */
async function readFolder(directory: string, config: Config, folders: ReadFolders): Promise<ReadFolder> {
  const key = `${directory}\n${JSON.stringify(config.workloadKinds)}`
  const known = folders.get(key)
  if (known) return known
  const errors: string[] = []
  const store = openFolder(directory, {
    watch: false,
    workloads: configuredWorkloadKinds(config),
    observer: { fileError: ({ file, line, message }) => errors.push(`${file}${line ? `:${line}` : ''}: ${message}`) },
  })
  await store.start(new AbortController().signal)
  await store.stop()
  const read = { objects: store.objects().map(({ object }) => withoutVersion(object)), errors }
  folders.set(key, read)
  return read
}

async function readManifests(file: string, bytes: number, fail: (text: string) => void): Promise<K8sObject[]> {
  let text: string
  try {
    text = await readTextFile({ file, bytes })
  } catch (error) {
    if (!(error instanceof UnreadableFileError || isGone(error))) throw error
    fail(`${file}: ${(error as Error).message}`)
    return []
  }
  const { manifests, errors } = parseManifests(text, file)
  for (const { line, message } of errors) fail(`${file}:${line}: ${message}`)
  for (const { object, line } of manifests) {
    for (const { path, message } of validateManifest(object)) fail(`${file}:${line}: ${path}: ${message}`)
  }
  return manifests.map(({ object }) => object)
}

/** Reads the object of the request. The other objects of its file are given. */
async function readRequest(
  { object, file, kind, name }: GivenTest['when'],
  { file: testFile, report }: TestPlace,
): Promise<{ object?: K8sObject; others: K8sObject[] }> {
  if ((object === undefined) === (file === undefined)) {
    report('when', object ? 'object and file exclude each other' : 'object or file is required')
    return { others: [] }
  }
  if (file === undefined) {
    const read = toManifest(object, 'when.object', report)
    return defined({ object: read, others: [] })
  }
  const path = besides(testFile, file)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile()) {
    report('when.file', `${path} ${stats ? 'is not a file' : 'does not exist'}`)
    return { others: [] }
  }
  const objects = await readManifests(path, stats.size, (text) => report('when.file', text))
  const matching = objects.filter(
    (one) => (kind === undefined || one.kind === kind) && (name === undefined || one.metadata.name === name),
  )
  const [only] = matching
  if (only && matching.length === 1) return { object: only, others: objects.filter((one) => one !== only) }
  const wanted = `${kind ?? 'object'}${name ? ` ${name}` : ''}`
  const similar = suggest(
    name ?? kind ?? '',
    objects.map((one) => (name ? (one.metadata.name ?? '') : one.kind)),
  )
  if (only) report('when.file', `${path} has ${matching.length} matching objects; set when.kind and when.name`)
  else report('when.file', `${path} has no ${wanted}${similar}`)
  return { others: [] }
}
