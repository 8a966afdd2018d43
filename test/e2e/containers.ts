// Runs images in containers with runc: that of the PATH, or else Debian's package, unpacked once into the cache folder.
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWN_ARCHITECTURE } from '../../.ci/release/base.ts'
import { run } from '../../.ci/release/run.ts'
import { debianPrograms } from './debian-programs.ts'
import { type CommandResult, makeTemporaryFolder, runCommand } from './processes.ts'

const memoryMib = 512

export interface UnpackedImage {
  // The files of the image.
  rootfs: string
  env: string[]
  entrypoint: string[]
  uid: number
  gid: number
}

export interface Mount {
  from: string
  to: string
}

interface ContainerOptions {
  mounts?: Mount[]
  // Beside that of the image, `NAME=value`.
  env?: string[]
  // Instead of that of the image; none, if the words are a whole command.
  entrypoint?: string[]
}

export interface Container {
  // Starts it in the foreground.
  command: string
  args: string[]
  env: Record<string, string>
  // Ends it, however it was started.
  remove(): Promise<void>
}

/** Unpacks the image of an OCI layout for this machine, as a container engine does. */
export async function unpackImage(layout: string): Promise<UnpackedImage> {
  const rootfs = join(await makeTemporaryFolder(), 'rootfs')
  const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'))
  const readJson = async (file: string) => JSON.parse(await readFile(file, 'utf8'))
  const { manifests } = await readJson(join(layout, 'index.json'))
  const index = (await readJson(blob(manifests[0].digest))) as {
    manifests: { digest: string; platform: { architecture: string } }[]
  }
  const own = index.manifests.find(({ platform }) => platform.architecture === OWN_ARCHITECTURE)
  if (own === undefined) throw new Error(`the image has no manifest for ${OWN_ARCHITECTURE}`)
  const manifest = await readJson(blob(own.digest))
  await run('mkdir', [rootfs])
  for (const { digest } of manifest.layers) await run('tar', ['-xzf', blob(digest), '-C', rootfs, '--no-same-owner'])
  const { config } = await readJson(blob(manifest.config.digest))
  const [uid, gid] = config.User.split(':').map(Number)
  return { rootfs, env: config.Env, entrypoint: config.Entrypoint, uid, gid }
}

/**
 * Prepares a container as the chart's Deployment describes it: a read-only file system, the user of the image, no capabilities and 512 MiB
 * of memory. It has the network of this machine and an empty `/tmp`. Without root rights, it has no limit of memory.
 */
export async function prepareContainer(
  image: UnpackedImage,
  words: string[],
  { mounts = [], env: more = [], entrypoint = image.entrypoint }: ContainerOptions = {},
): Promise<Container> {
  const bundle = await makeTemporaryFolder()
  const { runc, env } = await findRunc()
  // As an emptyDir of Kubernetes: every user can write it.
  const emptyFolder = join(bundle, 'empty')
  await mkdir(emptyFolder)
  await chmod(emptyFolder, 0o777)
  const spec = runtimeSpec({ ...image, env: [...image.env, ...more] }, [...entrypoint, ...words], mounts, emptyFolder)
  await writeFile(join(bundle, 'config.json'), JSON.stringify(spec))
  const id = `lodestone-${randomUUID()}`
  const root = ['--root', join(bundle, 'state')]
  return {
    command: runc,
    args: [...root, 'run', '--bundle', bundle, id],
    env,
    remove: async () => {
      await runCommand(runc, [...root, 'delete', '--force', id], { cwd: bundle, env })
    },
  }
}

/** Runs a command in a new container, and returns what it prints. */
export async function runInContainer(...given: Parameters<typeof prepareContainer>): Promise<CommandResult> {
  const { command, args, env, remove } = await prepareContainer(...given)
  try {
    return await runCommand(command, args, { cwd: tmpdir(), env })
  } finally {
    await remove()
  }
}

function runtimeSpec({ rootfs, env, uid, gid }: UnpackedImage, args: string[], mounts: Mount[], emptyFolder: string) {
  const [ownUid = 0, ownGid = 0] = [process.getuid?.(), process.getgid?.()]
  const isRoot = ownUid === 0
  const options = ['nosuid', 'noexec', 'nodev']
  const cgroup = { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: [...options, 'ro'] }
  const sysfs = { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...options, 'ro'] }
  return {
    ociVersion: '1.0.2',
    root: { path: rootfs, readonly: true },
    process: {
      args,
      env,
      cwd: '/',
      user: { uid, gid },
      noNewPrivileges: true,
      capabilities: {},
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/tmp', type: 'bind', source: emptyFolder, options: ['rbind', 'nosuid', 'nodev'] },
      ...(isRoot ? [sysfs, cgroup] : []),
      ...mounts.map(({ from, to }) => ({ destination: to, type: 'bind', source: from, options: ['rbind', 'ro'] })),
    ],
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts', ...(isRoot ? [] : ['user'])].map((type) => ({ type })),
      ...(isRoot
        ? { resources: { memory: { limit: memoryMib * 2 ** 20 } } }
        : {
            uidMappings: [{ containerID: uid, hostID: ownUid, size: 1 }],
            gidMappings: [{ containerID: gid, hostID: ownGid, size: 1 }],
          }),
    },
  }
}

async function findRunc(): Promise<{ runc: string; env: Record<string, string> }> {
  const env = { PATH: process.env['PATH'] ?? '' }
  const said = await runCommand('runc', ['--version'], { cwd: tmpdir(), env }).catch(() => undefined)
  if (said?.code === 0) return { runc: 'runc', env }
  const { folder, env: withLibraries } = await debianPrograms('runc', ['runc', 'libseccomp2'])
  return { runc: join(folder, 'usr', 'sbin', 'runc'), env: withLibraries }
}
