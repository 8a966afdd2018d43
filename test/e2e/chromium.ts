// A real Chromium: the package of Debian with its libraries, unpacked once into the cache folder. No root rights are needed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { debianPrograms } from './debian-programs.ts'

// What Chromium loads, apart from the C and C++ libraries of every Debian.
const PACKAGES = [
  ...['chromium', 'chromium-common', 'fonts-dejavu-core', 'fontconfig-config', 'xkb-data'],
  ...[
    'libasound2',
    'libasyncns0',
    'libatk-bridge2.0-0',
    'libatk1.0-0',
    'libatspi2.0-0',
    'libavahi-client3',
    'libavahi-common3',
  ],
  ...[
    'libbrotli1',
    'libbsd0',
    'libcairo-gobject2',
    'libcairo2',
    'libcolord2',
    'libcups2',
    'libdatrie1',
    'libdav1d6',
    'libdbus-1-3',
  ],
  ...[
    'libdeflate0',
    'libdouble-conversion3',
    'libdrm2',
    'libepoxy0',
    'libexpat1',
    'libflac12',
    'libfontconfig1',
    'libfreetype6',
  ],
  ...[
    'libfribidi0',
    'libgbm1',
    'libgdk-pixbuf2.0-0',
    'libglib2.0-0',
    'libgraphite2-3',
    'libgtk-3-0',
    'libharfbuzz-subset0',
  ],
  ...[
    'libharfbuzz0b',
    'libicu72',
    'libjbig0',
    'libjpeg62-turbo',
    'liblcms2-2',
    'liblerc4',
    'libminizip1',
    'libmp3lame0',
  ],
  ...['libmpg123-0', 'libnspr4', 'libnss3', 'libogg0', 'libopenh264-7', 'libopenjp2-7', 'libopus0', 'libpango-1.0-0'],
  ...[
    'libpangocairo-1.0-0',
    'libpangoft2-1.0-0',
    'libpixman-1-0',
    'libpng16-16',
    'libpulse0',
    'libsndfile1',
    'libthai0',
    'libtiff6',
  ],
  ...[
    'libvorbis0a',
    'libvorbisenc2',
    'libwayland-client0',
    'libwayland-cursor0',
    'libwayland-egl1',
    'libwayland-server0',
  ],
  ...[
    'libwebp7',
    'libwebpdemux2',
    'libwebpmux3',
    'libx11-6',
    'libx11-xcb1',
    'libxau6',
    'libxcb-render0',
    'libxcb-shm0',
    'libxcb1',
  ],
  ...['libxcomposite1', 'libxcursor1', 'libxdamage1', 'libxdmcp6', 'libxext6', 'libxfixes3', 'libxi6', 'libxinerama1'],
  ...['libxkbcommon0', 'libxml2', 'libxnvctrl0', 'libxrandr2', 'libxrender1', 'libxslt1.1'],
]

// Starts Chromium without a window. The caller closes it.
export async function startBrowser(): Promise<Browser> {
  const { folder, env } = await debianPrograms('chromium', PACKAGES)
  const libraries = env['LD_LIBRARY_PATH']?.split(delimiter) ?? []
  return chromium.launch({
    executablePath: join(folder, 'usr/lib/chromium/chromium'),
    // Its own sandbox needs rights that a container does not give.
    args: ['--no-sandbox'],
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [...libraries, ...libraries.map((path) => join(path, 'pulseaudio'))].join(delimiter),
    },
  })
}

export const PROJECT = join(import.meta.dirname, '..', '..')

// Builds the files that `lodestone ui` serves from the present sources.
export async function buildPage(): Promise<void> {
  const [code] = await once(spawn('npm', ['run', '-s', 'build:page'], { cwd: PROJECT, stdio: 'ignore' }), 'exit')
  if (code !== 0) throw new Error(`npm run build:page ended with ${code}`)
}
