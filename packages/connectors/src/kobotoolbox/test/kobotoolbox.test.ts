import { conforms } from '../../../test/conformance.ts'
import { kobo } from './kobotoolbox.scene.ts'

conforms(kobo)
