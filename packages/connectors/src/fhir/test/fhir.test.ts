import { conforms } from '../../../test/conformance.ts'
import { fhir } from './fhir.scene.ts'

conforms(fhir)
