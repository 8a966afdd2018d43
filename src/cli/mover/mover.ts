/** `lodestone mover`: downloads, uploads or deletes data, as the process of a mover Pod (docs/guides/movers.md). */
import { existsSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { defined } from '../../base/json.ts'
import type { ObjectPlace } from '../../base/objects.ts'
import { suggest } from '../../base/suggest.ts'
import { exitStatusOf, type MoverVerb } from '../../core/mover-contract/contract.ts'
import { checkDataset } from '../../mover/check.ts'
import { deleteDataset } from '../../mover/delete.ts'
import { download } from '../../mover/download/download.ts'
import { measureDisk } from '../../mover/download/space.ts'
import { openEventReporter } from '../../mover/events.ts'
import { DEFAULT_RETRY } from '../../mover/http/backoff.ts'
import { openHttpClient } from '../../mover/http/client.ts'
import type { Protocol } from '../../mover/objects/object-store.ts'
import { prepareDirectory } from '../../mover/prepare.ts'
import { type MoverIo, type MoverRun, runMover } from '../../mover/run.ts'
import { upload } from '../../mover/upload/upload.ts'
import { AGENT_NETWORKS } from '../../s3/role.ts'
import { openLogger } from '../../telemetry/logger.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from '../command.ts'
import { openEventSink, readIdentity } from './events.ts'
import {
  bytes,
  deleteOldBefore,
  isTrue,
  MOVER_OPTIONS,
  type MoverArguments,
  need,
  needPlace,
  readCa,
  readChoice,
  readEndpoint,
  readHeaders,
  readNetworks,
  wholeNumber,
  withEnvironment,
} from './options.ts'

export const mover: Command = {
  usage: 'download|upload|prepare|check|delete --root DIR --target PLACE [--source PLACE]',
  options: MOVER_OPTIONS,
  positionals: true,
  examples: [
    {
      command: 'lodestone mover download --source s3://lake/raw/ --root /volume --target /volume/data',
      does: 'Download all objects below a prefix; a second run continues',
    },
    {
      command: 'lodestone mover upload --source /volume/data --root /volume --target s3://lake/results/',
      does: 'Upload new and changed files',
    },
    {
      command: 'lodestone mover delete --root /volume --target /volume/data',
      does: 'Delete the data, and the rest of a download',
    },
  ],
  run: runMoverCommand,
}

const KUBELET_TERMINATION_LOG = '/dev/termination-log'

type Work = { work: MoverRun['work']; close: () => Promise<void> }

const VERBS: Readonly<Record<MoverVerb, (args: MoverArguments, io: CommandIo) => Work>> = {
  download: downloadWork,
  upload: uploadWork,
  check: checkWork,
  prepare: prepareWork,
  delete: deleteWork,
}

async function runMoverCommand(args: Arguments, io: CommandIo): Promise<number> {
  const [name = '', ...others] = args.positionals
  if (!Object.hasOwn(VERBS, name) || others.length > 0) {
    const got = args.positionals.join(' ') || 'nothing'
    const known = Object.keys(VERBS)
    throw new UsageError(
      `expected one of ${known.join(', ')}, not ${got}${suggest(name, known)}\nSee 'lodestone mover --help'.`,
    )
  }
  const verb = name as MoverVerb
  // Pods read the data as other users, whatever the umask of the container runtime is.
  if (isMainThread) process.umask(0o022)
  const moverArgs = withEnvironment(args, io.env)
  const attempt = wholeNumber(moverArgs, 'attempt', 1, 1, 1_000_000)
  const { log, close: closeLog } = openLogger({ level: 'info', format: 'auto', output: io.stdout })
  const writeLine: MoverIo['log'] = (level, fields, message) => log[level](fields, message)
  const { work, close } = VERBS[verb](moverArgs, io)
  const reporting = await openReporting(moverArgs, io, attempt, writeLine)
  try {
    const result = await runMover(
      { verb, attempt, work },
      {
        signal: io.signal,
        cancelFile: moverArgs.text('cancel-file'),
        terminationLog: terminationLogOf(moverArgs),
        events: reporting?.events,
        log: writeLine,
        readDisk: () => measureDisk(need(moverArgs, 'root')),
      },
    )
    return exitStatusOf(result)
  } finally {
    await Promise.all([close(), reporting?.close(), closeLog()])
  }
}

/** The file for the termination message. The kubelet creates the default file; outside a Pod, there is none. */
function terminationLogOf(args: MoverArguments): string | undefined {
  return args.text('termination-log') ?? (existsSync(KUBELET_TERMINATION_LOG) ? KUBELET_TERMINATION_LOG : undefined)
}

async function openReporting(args: MoverArguments, io: CommandIo, attempt: number, log: MoverIo['log']) {
  const identity = readIdentity(io.env, attempt)
  if (identity === undefined) return undefined
  const opened = await openEventSink(args.text('kubeconfig'), io.env)
  if (opened === undefined) {
    // A mover without a token works too, only without Events.
    log('warn', {}, 'no Events: the Pod has no service account token')
    return undefined
  }
  const failed = (error: unknown) => log('warn', { err: error }, 'writing an Event failed')
  return { events: openEventReporter({ sink: opened.sink, identity, now: io.now, failed }), close: opened.close }
}

function downloadWork(args: MoverArguments, io: CommandIo): Work {
  const match = args.texts('match')
  const { place, protocol } = needPlace(args, 'source', { isPrefix: match.length > 0 })
  const parallel = wholeNumber(args, 'parallel', 16, 1, 256)
  const endpoint = readEndpoint(args, protocol)
  const { openStore, close } = openServer(args, io, protocol, place, endpoint)
  const input = {
    openStore,
    endpoint,
    selection: { place, match, exclude: args.texts('exclude'), flat: isTrue(args, 'flat') },
    inPlace: isTrue(args, 'in-place'),
    root: need(args, 'root'),
    target: need(args, 'target'),
    partSize: bytes(args, 'part-size', '8Mi', 64 * 1024),
    parallel,
    keepFree: bytes(args, 'keep-free', '1Gi', 0),
    verify: readVerify(args),
    existing: readChoice(args, 'existing', ['trust', 'compare', 'verify']) ?? 'trust',
    deleteOldBefore: deleteOldBefore(args),
  } as const
  return { work: (progress, signal) => download(input, progress, signal), close }
}

function readVerify(args: MoverArguments): 'checksum' | 'size' {
  return readChoice(args, 'verify', ['checksum', 'size']) ?? 'checksum'
}

function uploadWork(args: MoverArguments, io: CommandIo): Work {
  const { place, protocol } = needPlace(args, 'target')
  if (!place.recursive) throw new UsageError(`--target ${place.url}: must end in a slash`)
  // Each concurrent file has a part in memory.
  const parallel = wholeNumber(args, 'parallel', 8, 1, 64)
  const { openStore, close } = openServer(args, io, protocol, place, readEndpoint(args, protocol))
  const watch = args.text('watch') === undefined ? undefined : wholeNumber(args, 'watch', 10, 1, 86_400)
  const input = defined({
    openStore,
    root: need(args, 'root'),
    source: need(args, 'source'),
    place,
    // The smallest part of S3.
    partSize: bytes(args, 'part-size', '8Mi', 5 * 1024 * 1024),
    parallel,
    watchMs: watch === undefined ? undefined : watch * 1000,
  })
  return { work: (progress, signal) => upload(input, progress, signal), close }
}

function prepareWork(args: MoverArguments): Work {
  const input = { root: need(args, 'root'), target: need(args, 'target'), mustExist: isTrue(args, 'must-exist') }
  return { work: () => prepareDirectory(input), close: async () => undefined }
}

function checkWork(args: MoverArguments): Work {
  const input = {
    root: need(args, 'root'),
    target: need(args, 'target'),
    contents: readChoice(args, 'contents', ['record', 'files', 'checksums']) ?? 'files',
    deleteOldBefore: deleteOldBefore(args),
  }
  return { work: (progress, signal) => checkDataset(input, progress, signal), close: async () => undefined }
}

function deleteWork(args: MoverArguments): Work {
  const input = { root: need(args, 'root'), target: need(args, 'target') }
  return { work: (progress, signal) => deleteDataset(input, progress, signal), close: async () => undefined }
}

function openServer(args: MoverArguments, io: CommandIo, protocol: Protocol, place: ObjectPlace, endpoint: string) {
  const localNetworks = readNetworks(args)
  const http = openHttpClient({ ca: readCa(args, io.env), env: io.env, localNetworks })
  const agentHttp = openHttpClient({ env: {}, localNetworks: [...localNetworks, ...AGENT_NETWORKS] })
  const close = async () => {
    for (const client of [http, agentHttp]) client.close()
  }
  const pathStyle = readChoice(args, 'path-style', ['true', 'false'])
  const options = {
    place,
    endpoint,
    trustsEtags: readVerify(args) === 'checksum',
    region: args.text('region'),
    pathStyle: pathStyle === undefined ? undefined : pathStyle === 'true',
    headers: readHeaders(args),
    credentials: args.text('credentials'),
    env: io.env,
    agentHttp,
    retry: { ...DEFAULT_RETRY, retries: wholeNumber(args, 'retries', DEFAULT_RETRY.retries, 0, 100) },
    now: io.now,
  }
  return { openStore: (signal: AbortSignal) => protocol.open(options, http, signal), close }
}
