/** Hints for the user of `serve --folder`. */
import { existsSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../../app/app.ts'
import type { Config } from '../../app/config/config.ts'
import { shellWord } from '../../base/shell-word.ts'
import type { CommandIo } from '../command.ts'

/** In the package and in a clone, the examples are at the same place. */
const REVIEW = fileURLToPath(new URL('../../../examples/review.json', import.meta.url))

/** Example commands: a review over HTTPS, `check`, `explain`, `ui`. The paths are relative to the directory of the caller if they are below it. */
export function folderHints(
  folder: string,
  { certificates }: Config,
  { admission, health }: App['ports'],
  env: CommandIo['env'],
): string {
  const command = env['npm_lifecycle_event'] === undefined ? 'lodestone' : 'npm run -s lodestone --'
  const authority = shellWord(join(certificates.directory, 'ca.crt'))
  const workload = join(folder, 'workload.yaml')
  // The content of any other folder is unknown.
  const [manifest, target] = existsSync(workload)
    ? [shown(workload), 'deployment/trainer -n demo']
    : ['MANIFEST.yaml', 'KIND/NAME -n NAMESPACE']
  return `
Serving ${shown(folder)}. Try, in another terminal:

  # A review, as kube-apiserver sends it (the patch in the answer is base64):
  curl -s --cacert ${authority} -H 'Content-Type: application/json' \\
    --data @${shown(REVIEW)} https://localhost:${admission}/mutate/resource-binding

  # What would happen to a manifest?
  ${command} check -f ${manifest} --folder ${shown(folder)}

  # Why?
  ${command} explain ${target} --folder ${shown(folder)}

  # What waits, and where is data? A page in the browser:
  ${command} ui --folder ${shown(folder)}

  # Is it ready?
  curl -s localhost:${health}/readyz

Changed manifests are read again. Ctrl-C ends it.
`
}

function shown(path: string): string {
  const below = relative('.', path)
  return shellWord(isAbsolute(below) || below.startsWith('..') ? path : below || '.')
}
