/** Hints for the user of `serve --folder`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '../../app/app.ts'
import type { Config } from '../../app/config.ts'

/** Example commands: a review over HTTPS, `check`, `explain`. */
export function folderHints(folder: string, { certificates }: Config, { admission, health }: App['addresses']): string {
  const review = 'examples/review.json'
  const workload = join(folder, 'workload.yaml')
  // The content of any other folder is unknown.
  const [manifest, target] = existsSync(workload)
    ? [workload, 'deployment/trainer -n demo']
    : ['MANIFEST.yaml', 'KIND/NAME -n NAMESPACE']
  return `
Serving ${folder}. Try, in another terminal:

  # A review, as kube-apiserver sends it (the patch in the answer is base64):
  curl -s --cacert ${join(certificates.directory, 'ca.crt')} -H 'Content-Type: application/json' \\
    --data @${review} https://localhost:${admission}/mutate/resource-binding

  # What would happen to a manifest?
  npm run -s lodestone -- check -f ${manifest} --folder ${folder}

  # Why?
  npm run -s lodestone -- explain ${target} --folder ${folder}

  # Is it ready?
  curl -s localhost:${health}/readyz

Changed manifests are read again. Ctrl-C ends it.
`
}
