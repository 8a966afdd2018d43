/**
 * Writes fields.json: the fields of CRDs that name objects. `npx node test/crd-references/list.ts FOLDER`, where FOLDER has one folder of
 * CRDs for each project. The name of that folder is the project with its version, such as `kuberay-v1.7.0`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { scanCrd } from './scan.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('a folder of CRDs is required; npx node test/crd-references/list.ts FOLDER')

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.ya?ml$/.test(file))
const kinds = files.sort().flatMap((file) => {
  const [source = ''] = file.split('/')
  const documents = parseAllDocuments(readFileSync(join(folder, file), 'utf8'))
  return documents.flatMap((document) => scanCrd(document.toJS(), source) ?? [])
})
writeFileSync(join(import.meta.dirname, 'fields.json'), `${JSON.stringify(kinds, null, 2)}\n`)
