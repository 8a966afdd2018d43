/** Finds and reads the tests of a folder. Each YAML document without apiVersion and kind is a test; other documents are manifests. */
import { type Stats, statSync } from 'node:fs'
import { type Document, LineCounter } from 'yaml'
import { describeFileError } from '../../base/file-error.ts'
import { isObject } from '../../base/json.ts'
import { compileSchema } from '../../base/schema/schema-errors.ts'
import { suggest } from '../../base/suggest.ts'
import { fieldPosition } from '../../store/folder/positions.ts'
import { readTextFile } from '../../store/folder/read-text.ts'
import { scanFolder } from '../../store/folder/scan.ts'
import { UsageError } from '../command.ts'
import { completeTest, type ReadFolders, type TestCase } from './complete-test.ts'
import { documentValue, parseDocuments } from './documents.ts'
import { type GivenTest, testSchema } from './test-schema.ts'

const validate = compileSchema(testSchema, 'forbidden')

/** A file with its documents, to be written back with the results. */
export interface TestFile {
  file: string
  text: string
  documents: Document.Parsed[]
  tests: TestCase[]
}

export interface ReadTests {
  files: TestFile[]
  /** `FILE:LINE: message`, in the order of the files. */
  errors: string[]
}

/** Reads a file, or all tests of a folder. Throws `UsageError` if the path does not exist. */
export async function readTests(path: string): Promise<ReadTests> {
  const found = readStats(path)
  if (!found) throw new UsageError(`${path} does not exist`)
  // A pipe would block, and a device may have no end.
  if (!found.isFile() && !found.isDirectory()) throw new UsageError(`${path} is not a file or a folder`)
  const scan = found.isDirectory() ? await scanFolder(path) : { files: [{ file: path, bytes: found.size }], errors: [] }
  const read: ReadTests = { files: [], errors: scan.errors.map(({ file, message }) => `${file}: ${message}`) }
  const folders: ReadFolders = new Map()
  for (const scanned of scan.files) {
    try {
      const file = await readFile(scanned.file, await readTextFile(scanned), read.errors, folders)
      if (file.tests.length > 0) read.files.push(file)
    } catch (error) {
      read.errors.push(`${scanned.file}: ${(error as Error).message}`)
    }
  }
  return read
}

/** Throws `UsageError` for a path that cannot be followed, such as a link to itself. */
function readStats(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === undefined) throw cause
    throw new UsageError(`${path} cannot be read: ${describeFileError(cause)}`, { cause })
  }
}

async function readFile(file: string, text: string, errors: string[], folders: ReadFolders): Promise<TestFile> {
  const lines = new LineCounter()
  const lineAt = (offset = 0) => lines.linePos(offset).line
  const documents = parseDocuments(text, lines)
  const tests: TestCase[] = []
  const isSingle = documents.length === 1
  for (const [index, document] of documents.entries()) {
    const mistakes = [...document.errors, ...document.warnings]
    errors.push(...mistakes.map(({ pos, message }) => `${file}:${lineAt(pos[0])}: is not valid YAML: ${message}`))
    if (mistakes.length > 0 || document.contents === null) continue
    const given = documentValue(document)
    if (given === null || isManifest(given)) continue
    const { contents } = document
    if (!isTest(given)) {
      errors.push(
        `${file}:${lineAt(contents.range[0])}: is neither a test, which has when, nor a manifest, which has apiVersion and kind`,
      )
      continue
    }
    const report = (path: string, message: string) =>
      void errors.push(`${file}:${fieldPosition(path, contents, document, lines).line}: ${path}: ${message}`)
    const wrong = validate(given)
    for (const { path, message } of wrong) report(path, message)
    if (wrong.length > 0) continue
    const name = isSingle ? file : `${file}#${index + 1}`
    const test = await completeTest(given as GivenTest, { name, file, document, report, folders })
    if (test) tests.push(test)
  }
  return { file, text, documents, tests }
}

function isManifest(value: unknown): boolean {
  return isObject(value) && value['apiVersion'] !== undefined && value['kind'] !== undefined
}

/** Whether a document has a field of a test, or one that is close to it, such as `gven`. Another document belongs to another program. */
function isTest(value: unknown): boolean {
  return isObject(value) && Object.keys(value).some((name) => suggest(name, Object.keys(testSchema.properties)) !== '')
}
