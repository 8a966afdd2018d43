/** `npm run image:base`: writes the newest versions of Debian's packages and the Node of package.json, with their hashes, into base.json. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ARCHITECTURES, BASE_FILE, downloadDebian, downloadNode, type PinnedBase, sha256Of } from './base.ts'

const PACKAGE_FILE = join(import.meta.dirname, '..', '..', 'package.json')

const pinned = JSON.parse(await readFile(BASE_FILE, 'utf8')) as PinnedBase
const { devDependencies } = JSON.parse(await readFile(PACKAGE_FILE, 'utf8')) as { devDependencies: { node: string } }
const folder = await mkdtemp(join(tmpdir(), 'lodestone-base-'))
try {
  pinned.node.version = devDependencies.node
  for (const architecture of ARCHITECTURES) {
    const words = pinned.debian.map(({ name }) => name)
    for (const file of await downloadDebian(words, architecture, folder)) {
      // NAME_VERSION_ARCHITECTURE.deb; apt-get writes the colon of an epoch as %3a.
      const [name, version = ''] = basename(file).split('_')
      const found = pinned.debian.find((one) => one.name === name)
      if (found === undefined) throw new Error(`apt-get downloaded ${name}, which base.json does not name`)
      found.version = decodeURIComponent(version)
      found.sha256[architecture] = await sha256Of(file)
    }
    pinned.node.sha256[architecture] = await sha256Of(await downloadNode(devDependencies.node, architecture, folder))
  }
  await writeFile(BASE_FILE, `${JSON.stringify(pinned, null, 2)}\n`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
